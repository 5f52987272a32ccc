//! Opens a page in headless Chromium.

use std::path::Path;
use std::process::Command;

/// The page after its script ran, in headless Chromium; `None` if that is not installed.
pub fn dom(page: &Path) -> Option<String> {
    let profile = tempfile::tempdir().unwrap();
    let run = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output();
    match run {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(_) => {
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("skipped: there is no chromium, so the report was not opened in a browser\n"),
            );
            None
        }
    }
}
