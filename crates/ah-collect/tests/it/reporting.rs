//! The output for people.

use crate::common;

use assert_cmd::Command;
use common::{Folder, fake, fake_to, stdout, succeed};

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
