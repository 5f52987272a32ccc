//! Collecting programs of a user's own functions: `examples/sort.rs` and `examples/unruly_functions.rs`.

use crate::common;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ah_collect::{Options, collect, decision};
use ah_types::{TimingPolicy, log};
use assert_cmd::Command;
use common::{Folder, feedback, inputs, refused, succeed};

/// Returns the program of an example; if it is not built, prints that and returns `None`.
fn example(folder: &Folder, name: &str) -> Option<Command> {
    let mut path: PathBuf = assert_cmd::cargo::cargo_bin!("ah-collect").to_path_buf();
    path.set_file_name("examples");
    path.push(name);
    if !path.exists() {
        eprintln!(
            "skipped: the example {name} is not built (cargo test builds it, cargo test --test does not)"
        );
        return None;
    }
    let mut command = Command::new(path);
    command.current_dir(folder.path(""));
    Some(command)
}

#[test]
fn the_sort_example_collects_resumes_and_describes() {
    let folder = Folder::new();
    let Some(mut sort) = example(&folder, "sort") else { return };
    succeed(sort.args(["--num-samples", "5", "--num-reps", "2"]));
    let before = inputs(&folder);
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(log.metadata.name, "sort");
    assert_eq!(log.metadata.collection.as_ref().unwrap().fallback, ["std_unstable"]);
    assert_eq!(log.metadata.numerical_features, ["length", "ascending"]);
    assert!(log.samples.iter().all(|s| s.feedback.is_finite()), "no choice fails");

    let stderr = succeed(example(&folder, "sort").unwrap().args(["--num-samples", "8", "--num-reps", "2"]));
    assert!(stderr.contains("holds 5 inputs already"), "{stderr}");
    assert_eq!(inputs(&folder).len(), 8);
    assert_eq!(inputs(&folder)[..5], before);

    let described =
        example(&folder, "sort").unwrap().args(["report", "--text", "train.txt"]).output().unwrap();
    let described = String::from_utf8(described.stdout).unwrap();
    assert!(described.starts_with("sort: 8 inputs"), "{described}");
    assert!(described.contains("always std_unstable (fallback)"), "{described}");
    let list = example(&folder, "sort").unwrap().arg("list").output().unwrap();
    assert!(String::from_utf8(list.stdout).unwrap().contains("features: length, ascending"));
}

#[test]
fn a_bad_choice_costs_its_time_and_nothing_else() {
    let folder = Folder::new();
    let Some(mut unruly) = example(&folder, "unruly_functions") else { return };
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
        let Some(mut sort) = example(folder, "sort") else { return };
        succeed(sort.args(["--num-samples", "4", "--num-reps", "1", "--seed", "3"]));
    }
    assert_eq!(inputs(&folders[0]), inputs(&folders[1]));
}

#[test]
fn contexts_that_no_input_has_are_refused_or_skipped() {
    let folder = Folder::new();
    let Some(mut sort) = example(&folder, "sort") else { return };
    std::fs::write(folder.path("inputs.csv"), "length,ascending\n10,0.5\n").unwrap();
    refused(sort.args(["--inputs", "inputs.csv"]), 3, &["inputs.csv:2", "input_like"]);
    // An input of size 10 is even, so no input has these features.
    std::fs::write(folder.path("inputs.csv"), "size,even\n10,False\n").unwrap();
    let stderr = succeed(example(&folder, "unruly_functions").unwrap().args(["--inputs", "inputs.csv"]));
    assert!(stderr.contains("input_like made an input with the features size=10 even=True"), "{stderr}");
}

#[test]
fn inputs_that_a_log_cannot_hold_are_skipped_and_recorded_once() {
    let folder = Folder::new();
    let run = |inputs: &str| {
        let mut program = example(&folder, "unruly_inputs")?;
        Some(succeed(program.args(["--num-samples", inputs, "--num-reps", "1"])))
    };
    let Some(stderr) = run("20") else { return };
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
    let options = Options { num_samples: Some(5), ..Options::new(folder.log(), TimingPolicy::default()) };
    let run = |last_good: u64| {
        let decision = decision("always")
            .input(|rng| ah_collect::sampling::log_uniform(rng, 1, 1_000_000))
            .feature("size", |size| *size)
            .feature("mean", move |size| if *size <= last_good { 1.0 } else { f64::INFINITY })
            .choice("steady", |size| *size += 1)
            .choice("other", |size| *size += 1);
        collect(&mut [decision.runner().unwrap()], &options, &AtomicBool::new(false), &mut ())
    };
    for _ in 0..2 {
        let error = run(0).unwrap_err().to_string();
        let parts = ["1000 in a row", ",inf: the feature \"mean\" is inf", "Change how inputs are drawn"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    // The program is mended, and the same log goes on.
    assert_eq!(run(1_000_000).unwrap().measured, 5);
}

/// The warnings of a run.
#[derive(Default)]
struct Warnings(Vec<String>);

impl ah_collect::Observer for Warnings {
    fn warning(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

/// Collects on inputs of which those above `last` lack the feature `mean`, and returns the warnings.
fn collect_missing(folder: &Folder, last: u64, num_samples: u64, adaptive: bool) -> Vec<String> {
    let decision = decision("missing")
        .input(|rng| ah_collect::sampling::log_uniform(rng, 1, 1_000_000))
        .feature("size", |size| *size)
        .feature("mean", move |size| if *size <= last { 1.0 } else { f64::NAN })
        .choice("steady", |size| *size += 1)
        .choice("other", |size| *size += 1);
    let options = Options {
        num_samples: Some(num_samples),
        adaptive,
        random_part: adaptive.then_some(log::RandomPart { share: 0.1 }),
        ..Options::new(
            folder.log(),
            TimingPolicy { max_samples: 2, min_samples: 1, ..TimingPolicy::default() },
        )
    };
    let mut warnings = Warnings::default();
    let runners = &mut [decision.runner().unwrap()];
    let summary = collect(runners, &options, &AtomicBool::new(false), &mut warnings).unwrap();
    assert!(summary.skipped_inputs.is_empty(), "{:?}", summary.skipped_inputs);
    warnings.0
}

#[test]
fn a_missing_number_is_an_empty_cell() {
    let folder = Folder::new();
    for (adaptive, runs) in [(false, [20, 40]), (true, [100, 120])] {
        for inputs in runs {
            assert!(collect_missing(&folder, 1000, inputs, adaptive).is_empty());
            let log = log::read(&[folder.log()]).unwrap();
            assert_eq!(log.inputs.len() as u64, inputs, "a resumed run measures no input again");
            for input in 0..log.inputs.len() {
                let (size, mean) = (log.context(input).number("size"), log.context(input).number("mean"));
                assert_eq!(mean.unwrap().is_nan(), size.unwrap() > 1000.0, "{size:?}");
            }
        }
        assert!(!folder.read("train.txt").contains("NaN"));
        std::fs::remove_file(folder.log()).unwrap();
    }
}

#[test]
fn a_number_that_is_missing_everywhere_gets_a_warning() {
    let folder = Folder::new();
    let warnings = collect_missing(&folder, 0, 12, false);
    insta::assert_snapshot!(warnings.join("\n"), @r#"the feature "mean" is NaN on each of the 12 inputs of this run, so no heuristic can use it; mend the function that computes it, or take it out"#);
}

#[test]
fn a_truth_value_is_a_condition() {
    let folder = Folder::new();
    let options = Options { num_samples: Some(20), ..Options::new(folder.log(), TimingPolicy::default()) };
    let decision = decision("truth")
        .input(|rng| ah_collect::sampling::log_uniform(rng, 1, 1000))
        .feature("size", |size| *size)
        .feature("even", |size| size % 2 == 0)
        .choice("steady", |size| *size += 1)
        .choice("for_odd_sizes", |size| *size += 1)
        .eligible("not even and size > 1");
    collect(&mut [decision.runner().unwrap()], &options, &AtomicBool::new(false), &mut ()).unwrap();
    let log = log::read(&[folder.log()]).unwrap();
    for input in 0..log.inputs.len() {
        let size = log.context(input).number("size").unwrap();
        let is_offered = size % 2.0 == 1.0 && size > 1.0;
        assert_eq!(!feedback(&log, size, "for_odd_sizes").is_empty(), is_offered, "{size}");
    }
}
