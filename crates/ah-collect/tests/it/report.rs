//! The page about a log: it is complete and works in a browser.

#[path = "../../../ah-train/tests/it/chromium/mod.rs"]
mod chromium;

use assert_cmd::Command;

/// A log with one size after another, two choices and three repetitions.
fn log() -> String {
    let head =
        r#"{"name":"x","device_capa":[0,0],"numerical_features":["size"],"categorical_features":["kind"]}"#;
    let row = |i: u32| {
        let (size, kind) = (i * 37 % 101 + 1, ["</script><b>hostile", "plain"][i as usize % 2]);
        let time = |factor: f64| f64::from(size) * factor;
        (0..3)
            .map(|r| {
                let noise = 1.0 + f64::from((i + r) % 5) * 0.01;
                format!(
                    "{size},{kind},small,{}\n{size},{kind},large,{}\n",
                    time(noise),
                    30.0 + time(0.5 * noise)
                )
            })
            .collect::<String>()
    };
    format!("{head}\nsize,kind,choice,feedback\n{}", (0..101).map(row).collect::<String>())
}

#[test]
fn the_page_about_a_log_works_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.txt"), log()).unwrap();
    let report = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("ah-collect").unwrap();
        let done = command
            .current_dir(folder.path())
            .args(["report", "train.txt"])
            .args(arguments)
            .assert()
            .success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    assert!(report(&["--text"]).contains("101 inputs, 2 choices, 606 rows"));
    report(&["-o", "report.html"]);
    let path = folder.path().join("report.html");
    assert!(!std::fs::read_to_string(&path).unwrap().contains("<b>hostile"));
    let Some(dom) = chromium::dom(&path) else { return };
    assert!(dom.contains("data-ready=\"yes\""), "the script stopped before its end: {dom}");
    assert!(dom.contains("inputs, 2 choices, 606 rows"), "{dom}");
}
