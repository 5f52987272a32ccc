//! Closed and full output streams: the work is done all the same.

use crate::common;

use std::fs::File;
use std::process::{Command, Stdio};

use common::{log, skipped};

/// Trains on a small log with these streams and returns the exit code; the model must be there.
fn train(stdout: Stdio, stderr: Stdio) -> Option<i32> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.txt"), log(60)).unwrap();
    let status = Command::new(assert_cmd::cargo::cargo_bin!("ah-train"))
        .args(["train.txt", "--heuristic-name", "T", "--no-codegen"])
        .current_dir(&folder)
        .stdout(stdout)
        .stderr(stderr)
        .status()
        .unwrap();
    ah_model::Model::read(&folder.path().join("model.json")).expect("the model is written");
    status.code()
}

/// A pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_closed_or_full_standard_error_costs_messages_and_nothing_else() {
    assert_eq!(train(Stdio::null(), closed()), Some(0));
    assert_eq!(train(closed(), closed()), Some(0));
    match File::options().write(true).open("/dev/full") {
        Ok(full) => assert_eq!(train(Stdio::null(), full.into()), Some(0)),
        Err(_) => {
            skipped("no /dev/full here, so a full standard error is not tried");
        }
    }
}

#[test]
fn where_no_thread_can_be_started_one_does_the_work() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.txt"), log(60)).unwrap();
    let train = |model: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ah-train"));
        command.args(["train.txt", "--heuristic-name", "T", "--no-codegen", "--model", model]);
        command.current_dir(&folder);
        command
    };
    assert!(train("many.json").output().unwrap().status.success());
    // No system has the address space for such stacks.
    let output = train("one.json").env("RUST_MIN_STACK", (1_u64 << 50).to_string()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("warning: cannot start the threads"), "{stderr}");
    let [many, one] =
        ["many.json", "one.json"].map(|model| std::fs::read(folder.path().join(model)).unwrap());
    assert_eq!(one, many);
}

#[test]
fn names_from_logs_do_not_move_the_cursor() {
    let folder = tempfile::tempdir().unwrap();
    let evil = "pa\u{1b}[2J\u{9b}31md";
    std::fs::write(folder.path().join("train.txt"), log(60).replace(",pad,", &format!(",{evil},"))).unwrap();
    for arguments in [
        &["train.txt", "--heuristic-name", "T"][..],
        &["train.txt", "--heuristic-name", "T", "--fallback", evil, "--no-codegen"],
        &["evaluate", "model.json", "train.txt"],
        &["evaluate", "train.txt", "train.txt"],
    ] {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ah-train"));
        let output = command.args(arguments).current_dir(&folder).output().unwrap();
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).unwrap();
            assert!(
                !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'),
                "{arguments:?}: {text:?}"
            );
        }
    }
    assert!(folder.path().join("generated").exists(), "such a log is learned from");
}
