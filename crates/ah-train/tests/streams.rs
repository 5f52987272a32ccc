//! Closed and full output streams: the work is done all the same.

mod common;

use std::fs::File;
use std::process::{Command, Stdio};

use common::log;

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
    ah_types::Model::read(&folder.path().join("model.json")).expect("the model is written");
    status.code()
}

/// Returns a pipe that nobody reads.
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
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("skipped: no /dev/full here, so a full standard error is not tried\n"),
            );
        }
    }
}
