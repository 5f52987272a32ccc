//! The output for people: `report` and `list`.

use crate::common;

use assert_cmd::Command;
use common::{Folder, fake, fake_to, refused, stdout, succeed};

#[test]
fn a_log_is_described() {
    let folder = Folder::new();
    std::fs::write(folder.path("inputs.csv"), "size,kind\n7,apples\n9,pears\n5000,pears\n").unwrap();
    succeed(fake(&folder).args(["--inputs", "inputs.csv"]));
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    insta::assert_snapshot!(stdout(command.args(["report"]).arg(folder.log())));

    // A log that another program wrote names no tool, and has no seed.
    let log = folder.read("train.txt");
    let (head, rows) = log.split_once('\n').unwrap();
    let mut metadata: serde_json::Value = serde_json::from_str(head).unwrap();
    metadata["autoheuristic_rs"].as_object_mut().unwrap().retain(|key, _| key != "tool" && key != "seed");
    std::fs::write(folder.path("other.txt"), format!("{metadata}\n{rows}")).unwrap();
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    let text = stdout(command.args(["report"]).arg(folder.path("other.txt")));
    assert!(text.contains("policy: ") && !text.contains("seed: ") && !text.contains("tool: "), "{text}");

    let mut command = Command::cargo_bin("ah-collect").unwrap();
    refused(command.args(["report"]).arg(folder.path("missing.txt")), 4, &["missing.txt"]);
}

#[test]
fn a_missing_gpu_is_said_once() {
    let output = Command::cargo_bin("ah-collect").unwrap().arg("list").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let expected = usize::from(ah_kernels::cuda::count().is_err());
    let about_gpus = stderr.matches("taking the CPU: ").count();
    assert!(expected == 0 || about_gpus == expected, "{stderr}");
}

#[test]
fn the_list_has_every_choice() {
    let folder = Folder::new();
    insta::assert_snapshot!("the list", stdout(&mut fake_to(&folder, "list", "")));
}

#[test]
fn quiet_prints_only_results_and_verbose_every_input() {
    let folder = Folder::new();
    let run = |flag: &str, seed: &str| {
        let output =
            fake(&folder).args(["--num-samples", "3", "-o", seed, "--seed", seed, flag]).output().unwrap();
        assert!(output.status.success());
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run("-q", "1"), (String::new(), String::new()));
    let (_, verbose) = run("-v", "2");
    assert!(verbose.contains("1 of 3 inputs") && verbose.contains("3 of 3 inputs"), "{verbose}");
}

#[test]
fn a_log_of_another_optimization_is_refused_in_two_lines() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "2"]));
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.current_dir(folder.path(".")).args(["--name", "mm", "--backend", "cpu"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let message = String::from_utf8(output.stderr).unwrap();
    let expected = "error: train.txt: the log is of fake, this run measures mm; write to another file (-o)\n";
    assert_eq!(message, expected);
}

#[test]
fn logs_of_different_devices_do_not_merge() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "2"]));
    let other = folder.read("train.txt").replacen("\"model\":\"fake\"", "\"model\":\"another\"", 1);
    std::fs::write(folder.path("other.txt"), other).unwrap();
    let refused = ah_types::log::read(&["train.txt", "other.txt"].map(|l| folder.path(l))).unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("autoheuristic_rs.device.model") && message.contains("another"), "{message}");
}
