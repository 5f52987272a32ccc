//! Collecting programs of a user's own functions: `examples/sort.rs` and `examples/unruly_functions.rs`.

use crate::common;

use ah_types::log;
use assert_cmd::Command;
use common::{Folder, example, feedback, inputs, refused, succeed};

/// The program of an example in a folder.
fn program(folder: &Folder, name: &str) -> Command {
    let mut command = Command::new(example(name));
    command.current_dir(folder.path(""));
    command
}

#[test]
fn the_sort_example_collects_resumes_and_describes() {
    let folder = Folder::new();
    let mut sort = program(&folder, "sort");
    succeed(sort.args(["--num-samples", "5", "--num-reps", "2"]));
    let before = inputs(&folder);
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(log.metadata.name, "sort");
    assert_eq!(log.metadata.collection.as_ref().unwrap().fallback, ["std_unstable"]);
    assert_eq!(log.metadata.numerical_features, ["length", "appended"]);
    assert!(log.samples.iter().all(|s| s.feedback.is_finite()), "no choice fails");

    let stderr = succeed(program(&folder, "sort").args(["--num-samples", "8", "--num-reps", "2"]));
    assert!(stderr.contains("holds 5 inputs already"), "{stderr}");
    assert_eq!(inputs(&folder).len(), 8);
    assert_eq!(inputs(&folder)[..5], before);

    let list = program(&folder, "sort").arg("list").output().unwrap();
    assert!(String::from_utf8(list.stdout).unwrap().contains("features: length, appended"));
}

#[test]
fn a_bad_choice_costs_its_time_and_nothing_else() {
    let folder = Folder::new();
    let mut unruly = program(&folder, "unruly_functions");
    std::fs::write(folder.path("inputs.csv"), "size,even\n10,True\n11,False\n500,True\n").unwrap();
    let stderr = succeed(unruly.args(["--hang-seconds", "1", "--inputs", "inputs.csv"]));
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(log.inputs.len(), 3);
    for size in [10.0, 11.0, 500.0] {
        for good in ["steady", "printing"] {
            let times = feedback(&log, size, good);
            assert!(
                !times.is_empty() && times.iter().all(|ms| ms.is_finite()),
                "{good} on {size}: {times:?}"
            );
        }
        assert_eq!(feedback(&log, size, "wrong"), [f64::INFINITY]);
        for bad in ["panicking", "exiting", "endless"] {
            let failed = feedback(&log, size, bad) == [f64::INFINITY];
            assert_eq!(failed, size % 2.0 == 1.0, "{bad} on {size}");
        }
        assert_eq!(feedback(&log, size, "for_small_sizes").is_empty(), size >= 100.0);
    }
    for reason in [
        "wrong result: it differs from that of steady",
        "index out of bounds: the len is 1 but the index is 1",
        "crashed: the worker process ended with exit status: 7",
        "hung: no answer within 1 s",
        "not eligible: size < 100",
    ] {
        assert!(stderr.contains(reason), "{reason} in {stderr}");
    }
    assert!(!stderr.contains("RUST_BACKTRACE"), "a panic is a reason, not a message: {stderr}");
}

#[test]
fn inputs_are_drawn_from_the_seed_in_every_process() {
    let folders = [Folder::new(), Folder::new()];
    for folder in &folders {
        let mut sort = program(folder, "sort");
        succeed(sort.args(["--num-samples", "4", "--num-reps", "1", "--seed", "3"]));
    }
    assert_eq!(inputs(&folders[0]), inputs(&folders[1]));
}

#[test]
fn contexts_that_no_input_has_are_refused_or_skipped() {
    let folder = Folder::new();
    let mut sort = program(&folder, "sort");
    std::fs::write(folder.path("inputs.csv"), "length,appended\n10,5\n").unwrap();
    refused(sort.args(["--inputs", "inputs.csv"]), 3, &["inputs.csv:2", "input_like"]);
    // An input of size 10 is even, so no input has these features.
    std::fs::write(folder.path("inputs.csv"), "size,even\n10,False\n").unwrap();
    let stderr = succeed(program(&folder, "unruly_functions").args(["--inputs", "inputs.csv"]));
    assert!(stderr.contains("input_like made an input with the features size=10 even=True"), "{stderr}");
}

#[test]
fn inputs_that_a_log_cannot_hold_are_skipped_and_recorded_once() {
    let folder = Folder::new();
    let run = |inputs: &str| {
        succeed(program(&folder, "unruly_inputs").args(["--num-samples", inputs, "--num-reps", "1"]))
    };
    let stderr = run("20");
    let before = inputs(&folder);
    assert_eq!(before.len(), 20);
    let outcomes = || folder.read("train.txt.outcomes.jsonl").lines().map(str::to_owned).collect::<Vec<_>>();
    let recorded = outcomes();
    for (input, reason) in [
        (",-inf,", "the feature \"mean\" is -inf, expected a finite number, or NaN where it is missing"),
        ("two\\nlines", "the feature \"name\" has a line end, expected text of one line"),
        ("draw ", "attempt to divide by zero"),
    ] {
        let escaped = reason.replace('"', "\\\"");
        let is_it = |line: &String| line.contains(input) && line.contains(&escaped);
        assert!(recorded.iter().any(is_it), "{input} {reason}: {recorded:#?}");
        assert!(stderr.contains(reason), "{reason} in {stderr}");
    }

    run("30");
    assert_eq!(inputs(&folder).len(), 30);
    assert_eq!(inputs(&folder)[..20], before);
    let mut records = outcomes();
    assert_eq!(records[..recorded.len()], recorded, "the same inputs are not recorded again");
    records.sort();
    records.dedup();
    assert_eq!(records.len(), outcomes().len());
}

#[test]
fn a_feature_that_is_always_infinite_ends_the_run() {
    let folder = Folder::new();
    for _ in 0..2 {
        let mut program = program(&folder, "odd_features");
        let parts = ["500 inputs in a row", ",inf,", "the feature \"mean\" is inf"];
        refused(program.env("AH_LAST", "0").args(["--num-samples", "5"]), 5, &parts);
    }
    // The program is repaired, and the same log goes on.
    succeed(program(&folder, "odd_features").args(["--num-samples", "5"]));
    assert_eq!(inputs(&folder).len(), 5);
}

#[test]
fn a_missing_number_is_an_empty_cell_and_gets_a_warning_where_it_always_is() {
    let folder = Folder::new();
    let run = |last: &str, inputs: &str| {
        let mut program = program(&folder, "odd_features");
        succeed(program.env("AH_LAST", last).env("AH_MISSING", "1").args(["--num-samples", inputs]))
    };
    for inputs in ["20", "40"] {
        assert!(!run("1000", inputs).contains("is NaN"));
        let log = log::read(&[folder.log()]).unwrap();
        assert_eq!(log.inputs.len().to_string(), inputs, "a resumed run measures no input again");
        for input in 0..log.inputs.len() {
            let (size, mean) = (log.context(input).number("size"), log.context(input).number("mean"));
            assert_eq!(mean.unwrap().is_nan(), size.unwrap() > 1000.0, "{size:?}");
        }
    }
    assert!(!folder.read("train.txt").contains("NaN"));
    std::fs::remove_file(folder.log()).unwrap();
    let stderr = run("0", "12");
    let warning =
        "the feature \"mean\" is NaN on each of the 12 inputs of this run, so no heuristic can use it";
    assert!(stderr.contains(warning), "{stderr}");
}

#[test]
fn a_truth_value_is_a_condition() {
    let folder = Folder::new();
    succeed(program(&folder, "odd_features").args(["--num-samples", "20"]));
    let log = log::read(&[folder.log()]).unwrap();
    for input in 0..log.inputs.len() {
        let size = log.context(input).number("size").unwrap();
        let is_offered = size % 2.0 == 1.0 && size > 1.0;
        assert_eq!(!feedback(&log, size, "for_odd_sizes").is_empty(), is_offered, "{size}");
    }
}
