//! Gives `--version` the commit that a tool is built from, in release builds from a checkout. Debug builds go without:
//! they would compile all tools again after each commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=AH_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let given = std::env::var("AH_COMMIT").ok();
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = given.or_else(|| if is_release { of_checkout() } else { None });
    println!("cargo::rustc-env=AH_COMMIT={}", commit.as_deref().unwrap_or(""));
}

/// The commit of this repository; a packed crate inside somebody else's repository has none.
fn of_checkout() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    if !Path::new("../../crates/ah-cli").is_dir() {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    git(&["rev-parse", "--short=9", "HEAD"])
}
