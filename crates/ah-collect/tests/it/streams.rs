//! Closed and full output streams, and names with escape sequences.

use crate::common;

use std::fs::File;
use std::process::{Command, Stdio};

use common::{Folder, fake_worker, inputs, skipped};

fn fake(folder: &Folder) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ah-collect"));
    command.args(["--worker", &fake_worker(""), "--num-samples", "5", "-o"]).arg(folder.log());
    command.env("AH_FAKE_PACE_US", "1");
    command
}

/// A pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_closed_standard_error_costs_messages_and_nothing_else() {
    let folder = Folder::new();
    let status = fake(&folder).stderr(closed()).status().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(inputs(&folder).len(), 5);
    // A resumed run prints more, and an error is still an exit code.
    assert!(fake(&folder).stderr(closed()).status().unwrap().success());
    let refused = fake(&folder).args(["--seed", "9"]).stderr(closed()).status().unwrap();
    assert_eq!(refused.code(), Some(3));
}

#[test]
fn a_full_standard_error_costs_messages_and_nothing_else() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        skipped("no /dev/full here, so a full standard error is not tried");
        return;
    };
    let folder = Folder::new();
    let status = fake(&folder).stderr(full).status().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(inputs(&folder).len(), 5);
}

#[test]
fn a_limit_of_threads_gives_one_sentence() {
    // No system has the address space for such a stack, so that every start of a thread fails.
    let no_threads = |command: &mut Command| {
        let output = command.env("RUST_MIN_STACK", (1_u64 << 50).to_string()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{stderr}");
        assert!(stderr.lines().last().unwrap().starts_with("error: "), "{stderr}");
        assert!(stderr.contains("cannot start a thread") && !stderr.contains("panicked"), "{stderr}");
    };
    let folder = Folder::new();
    no_threads(&mut fake(&folder));
    let mut cpu = Command::new(assert_cmd::cargo::cargo_bin!("ah-collect"));
    no_threads(cpu.args(["--backend", "cpu", "--name", "mm", "-o"]).arg(folder.path("mm.txt")));
}

#[test]
fn names_from_files_do_not_move_the_cursor() {
    let folder = Folder::new();
    let evil = "\u{1b}[2J\u{9b}31mevil\r";
    let optimization = format!("name = {evil:?}\n[[feature]]\nname = \"size\"\nkind = \"numerical\"\n")
        .replace("\\u{1b}", "\\u001b");
    std::fs::write(folder.path("evil.toml"), optimization.replace("\\u{9b}", "\\u009b")).unwrap();
    std::fs::write(folder.path("inputs.csv"), format!("size,kind\n1,{evil}x\n")).unwrap();
    let mut outputs = Vec::new();
    let mut run = |arguments: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ah-collect"));
        let output = command.current_dir(folder.path("")).args(arguments).output().unwrap();
        outputs.push(output.stdout);
        outputs.push(output.stderr);
    };
    run(&["--backend", "cpu", "--optimization", "evil.toml"]);
    run(&["--worker", &fake_worker(""), "--inputs", "inputs.csv"]);
    assert!(outputs.iter().any(|text| String::from_utf8_lossy(text).contains("evil")));
    for text in outputs {
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}
