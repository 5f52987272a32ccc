//! `ah-collect` from a user's view, on the fake device and on the processor.

use crate::common;

use std::collections::HashMap;

use ah_types::log;
use common::{Folder, collector_at_work, fake, inputs, refused, succeed};

#[test]
fn every_kind_of_outcome_is_kept() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "20"]));
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(log.inputs.len(), 20);
    assert_eq!(log.metadata.name, "fake");

    let mut feedback: HashMap<&str, Vec<f64>> = HashMap::new();
    for sample in log.samples.iter().filter(|s| s.input == 0) {
        feedback.entry(log.choice_name(sample.choice)).or_default().push(sample.feedback);
    }
    assert_eq!(feedback["steady"].len(), 3, "three repetitions");
    for failing in ["failing", "failing_late", "wrong"] {
        assert_eq!(feedback[failing], [f64::INFINITY], "{failing}");
    }
    assert!(!feedback.contains_key("hanging"), "a skipped choice leaves no row");
    assert!(feedback["slow"].len() < 3, "a slow choice stops early");

    let outcomes = folder.read("train.txt.outcomes.jsonl");
    for reason in [
        "this choice always fails",
        "this choice fails after a while",
        "wrong result: relative error 1 (at most 1e-6 expected)",
        "only with the argument `faults`",
    ] {
        let times = outcomes.matches(reason).count();
        assert_eq!(times, 20, "{reason} in {outcomes}");
    }
    assert!(outcomes.contains(r#""choices":["hanging","crashing","losing"],"skipped":"#), "{outcomes}");

    let too_large = folder.path("large.csv");
    std::fs::write(&too_large, "size,kind\n95000,apples\n5,pears\n").unwrap();
    let large = folder.path("large.txt");
    succeed(fake(&folder).arg("--inputs").arg(&too_large).arg("-o").arg(&large));
    let outcomes = folder.read("large.txt.outcomes.jsonl");
    let record = r#"{"input":"95000,apples","skipped":"out of memory: more than 90000 elements"#;
    assert!(outcomes.contains(record), "{outcomes}");
}

#[test]
fn the_same_seed_gives_the_same_log() {
    let (a, b, c) = (Folder::new(), Folder::new(), Folder::new());
    succeed(fake(&a).args(["--num-samples", "30", "--seed", "5"]));
    succeed(fake(&b).args(["--num-samples", "30", "--seed", "5"]));
    succeed(fake(&c).args(["--num-samples", "30", "--seed", "6"]));
    assert_eq!(a.read("train.txt"), b.read("train.txt"));
    assert_ne!(inputs(&a), inputs(&c));
}

#[test]
fn shards_share_one_sequence() {
    let (whole, parts) = (Folder::new(), Folder::new());
    succeed(fake(&whole).args(["--draws", "30"]));
    let mut found: Vec<String> = Vec::new();
    for (shard, name) in [("1/3", "a.txt"), ("2/3", "b.txt"), ("3/3", "c.txt")] {
        succeed(fake(&parts).args(["--draws", "30", "--shard", shard, "-o"]).arg(parts.path(name)));
        let log = log::read(&[parts.path(name)]).unwrap();
        found.extend(log.inputs.into_iter().map(|i| i.text.into_string()));
    }
    let merged = log::read(&["a.txt", "b.txt", "c.txt"].map(|n| parts.path(n))).unwrap();
    assert_eq!(merged.inputs.len(), found.len(), "parts are disjoint, and their logs merge");
    let mut expected = inputs(&whole);
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "together they measure the inputs of one machine");
}

#[test]
fn a_killed_run_continues_the_same_sequence() {
    let (whole, cut) = (Folder::new(), Folder::new());
    succeed(fake(&whole).args(["--num-samples", "40"]));

    let mut child = collector_at_work(&cut, &["--num-samples", "40"], "1000", 100);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let before = inputs(&cut).len();
    assert!((1..40).contains(&before), "{before}");
    // Simulates a kill that tore the last line.
    let mut text = cut.read("train.txt");
    text.push_str("123,apples,stea");
    std::fs::write(cut.log(), &text).unwrap();

    let stderr = succeed(fake(&cut).args(["--num-samples", "40"]));
    assert!(
        stderr.contains(r#"warning: train.txt: the last line was torn and is cut off: "123,apples,stea""#),
        "{stderr}"
    );
    assert!(stderr.contains(&format!("holds {before} inputs already")), "{stderr}");
    assert_eq!(cut.read("train.txt"), whole.read("train.txt"));

    let stderr = succeed(fake(&cut).args(["--num-samples", "40"]));
    assert!(stderr.contains("measured 0 inputs"), "{stderr}");
    assert_eq!(cut.read("train.txt"), whole.read("train.txt"));
}

#[test]
fn an_input_that_lacks_choices_is_completed() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "6"]));
    let (whole, log) = (folder.read("train.txt"), log::read(&[folder.log()]).unwrap());
    // Without `steady` on the second input, and without the last choices of the last one, as a cut write leaves it.
    let (second, last) = (format!("{},steady", log.inputs[1].text), &log.inputs[5].text);
    let of_last = whole.lines().filter(|l| l.starts_with(&**last)).count();
    let kept = whole.lines().count() - of_last + 3;
    let cut: Vec<_> = whole.lines().take(kept).filter(|l| !l.starts_with(&second)).collect();
    std::fs::write(folder.log(), cut.join("\n") + "\n").unwrap();

    let stderr = succeed(fake(&folder).args(["--num-samples", "6"]));
    assert!(stderr.contains("measuring the missing choices of 2 inputs"), "{stderr}");
    assert!(stderr.contains("measured 2 inputs"), "{stderr}");
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&folder.read("train.txt")), sorted(&whole), "the missing rows and no others");

    // Without the file of outcomes, nothing shows which choices are skipped.
    std::fs::remove_file(folder.path("train.txt.outcomes.jsonl")).unwrap();
    let completed = folder.read("train.txt");
    let stderr = succeed(fake(&folder).args(["--num-samples", "6"]));
    assert!(stderr.contains("measured 6 inputs "), "{stderr}");
    assert_eq!(folder.read("train.txt"), completed);
    let stderr = succeed(fake(&folder).args(["--num-samples", "7"]));
    assert!(stderr.contains("measured 1 input ") && stderr.contains("holds 6 inputs already"), "{stderr}");
}

#[test]
fn a_second_collector_into_the_same_log_is_refused() {
    let folder = Folder::new();
    let mut first = collector_at_work(&folder, &["--num-samples", "30", "--shard", "2/3"], "2000", 5);
    for shard in ["1/1", "1/3", "2/3"] {
        refused(
            fake(&folder).args(["--num-samples", "30", "--shard", shard]),
            4,
            &["another collector measures into this log", "--shard", "-o"],
        );
    }
    assert!(first.wait().unwrap().success());
    assert_eq!(inputs(&folder).len(), 30, "every input once");
    let left = std::fs::read_dir(folder.path("")).unwrap().count();
    assert_eq!(left, 2, "the log and its outcomes");
    succeed(fake(&folder).args(["--num-samples", "31", "--shard", "2/3"]));
}

#[test]
fn a_log_of_another_run_is_refused_with_both_values() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "3", "--seed", "1"]));
    let before = folder.read("train.txt");
    refused(
        fake(&folder).args(["--num-samples", "5", "--seed", "2"]),
        3,
        &["autoheuristic_rs.seed (log: 1, other: 2)"],
    );
    assert_eq!(folder.read("train.txt"), before);
}

#[test]
fn an_interrupt_ends_after_the_input_in_hand() {
    let folder = Folder::new();
    let child = collector_at_work(&folder, &["--num-samples", "100000"], "500", 20);
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("interrupted after the current input"), "{stderr}");
    assert!(stderr.contains("wins: "), "{stderr}");
    assert!(folder.read("train.txt").ends_with('\n'));
}

#[test]
fn a_log_that_goes_away_during_a_run_ends_it() {
    for cut in [false, true] {
        let folder = Folder::new();
        let child = collector_at_work(&folder, &["--num-samples", "100000"], "500", 20);
        match cut {
            true => std::fs::File::create(folder.log()).map(drop).unwrap(),
            false => std::fs::remove_file(folder.log()).unwrap(),
        }
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{stderr}");
        assert!(stderr.contains("removed, moved or cut during the run"), "{stderr}");
    }
}

#[test]
fn num_reps_is_the_number_of_rows() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "2", "--num-reps", "5"]));
    let log = log::read(&[folder.log()]).unwrap();
    let steady = log.choice_id("steady").unwrap();
    assert_eq!(log.samples.iter().filter(|s| s.choice == steady).count(), 10);
}

#[test]
fn exactly_the_inputs_of_a_file_are_measured() {
    let folder = Folder::new();
    std::fs::write(folder.path("inputs.csv"), "kind,size\npears,7\napples,5000\npears,7\n").unwrap();
    succeed(fake(&folder).arg("--inputs").arg(folder.path("inputs.csv")));
    assert_eq!(inputs(&folder), ["7,pears", "5000,apples"]);
    // A log serves as well.
    succeed(fake(&folder).arg("--inputs").arg(folder.log()).arg("-o").arg(folder.path("again.txt")));
    assert_eq!(folder.read("again.txt"), folder.read("train.txt"));
}

#[test]
fn every_optimization_is_measured_on_the_processor() {
    let folder = Folder::new();
    for name in ["pad_mm", "mm"] {
        let path = folder.path(name);
        let mut command = assert_cmd::Command::cargo_bin("ah-collect").unwrap();
        let command =
            command.args(["--name", name, "--backend", "cpu", "--num-samples", "4", "-o"]).arg(&path);
        let stderr = succeed(command);
        assert!(!stderr.contains("failed"), "{name}: {stderr}");
        let log = log::read(&[&path]).unwrap();
        assert_eq!((log.metadata.name.as_str(), log.inputs.len()), (name, 4));
        assert!(log.samples.iter().all(|s| s.feedback.is_finite() && s.feedback > 0.0), "{name}");
    }
}
