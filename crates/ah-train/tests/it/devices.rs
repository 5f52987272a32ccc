//! Logs of several devices, learned together.

use crate::common;

use std::fmt::Write as _;
use std::path::PathBuf;

use ah_train::{MaxRisk, Params, TrainedModel, evaluate, train};
use common::Run;

/// A log of a GPU. Large tiles pay from four tiles a multiprocessor on, so the crossover moves with the device.
/// A device whose multiprocessors are not in the log is one of PyTorch's.
fn log(multiprocessors: u32, capability: u32, by_pytorch: bool) -> String {
    let device = format!(
        r#", "autoheuristic_rs": {{"format": 1, "device": {{"kind": "cuda", "name": "GPU {multiprocessors}", "capability": [{capability}, 0], "multiprocessors": {multiprocessors}, "shared_memory": 100000, "l2": 1, "memory": 1, "clock_khz": 1, "memory_clock_khz": 1, "driver": "", "runtime": ""}}, "seed": {multiprocessors}, "fallback": ["small"], "tool": "test"}}"#
    );
    let device = if by_pytorch { "" } else { &device };
    let mut text = format!(
        r#"{{"name": "tiled", "shared_memory": 100000, "device_capa": [{capability}, 0], "numerical_features": ["n"], "categorical_features": []{device}}}
n,choice,feedback
"#
    );
    for i in 0..400 {
        let n = 1 + (i * i * 7) % 1601;
        let per_multiprocessor = f64::from(n) / f64::from(multiprocessors);
        let large = if per_multiprocessor > 4.0 { 1.0 } else { 2.0 };
        let _ = writeln!(text, "{n},small,1.5\n{n},large,{large}");
    }
    text
}

fn learn(run: &Run, logs: &[&str], change: impl FnOnce(&mut Params)) -> TrainedModel {
    let logs: Vec<PathBuf> = logs.iter().map(|log| run.path(log)).collect();
    let mut params = Params { max_risk: Some(MaxRisk::None), ..Params::new(logs, "T") };
    change(&mut params);
    train(&params).unwrap()
}

fn three_devices() -> Run {
    let run = Run::new();
    for multiprocessors in [50, 100, 200] {
        run.write(&format!("{multiprocessors}.txt"), log(multiprocessors, 9, false));
    }
    run
}

#[test]
fn a_device_between_two_is_known_without_measuring_it() {
    let run = three_devices();
    let trained = learn(&run, &["50.txt", "200.txt"], |_| ());
    let model = &trained.model;
    assert!(model.features.base().slot("multiprocessors").is_some_and(|slot| {
        let feature = &model.features.base().features()[slot];
        feature.integer && slot == 1 && model.features.base().len() == 2
    }));
    assert_eq!((&model.device, model.shared_memory, model.device_capa), (&None, None, (0, 0)));

    // A log of one of the devices, or of another: its inputs get the feature too.
    for device in ["200.txt", "100.txt"] {
        let evaluation = evaluate(model, &[run.path(device)], None, false).unwrap();
        let known = device == "200.txt";
        assert_eq!(evaluation.warnings.len(), usize::from(known), "{device}: {:?}", evaluation.warnings);
        assert!(evaluation.comparison.model.slowdown < 1.02, "{device}: {:?}", evaluation.comparison.model);
    }
}

#[test]
fn the_order_of_logs_does_not_matter_and_a_log_counts_once() {
    let run = three_devices();
    let one = learn(&run, &["50.txt", "100.txt"], |_| ());
    let other = learn(&run, &["100.txt", "50.txt", "100.txt"], |_| ());
    assert_eq!((&one.model.tree, &one.model.features), (&other.model.tree, &other.model.features));
    assert!(other.warnings.iter().any(|warning| warning.contains("100.txt")), "{:?}", other.warnings);
    // Without a device of its own, a log of PyTorch has its capability.
    run.write("pytorch.txt", log(80, 8, true));
    let mixed = learn(&run, &["100.txt", "pytorch.txt"], |_| ());
    let names: Vec<&str> =
        mixed.model.features.base().features().iter().map(|feature| feature.name.as_str()).collect();
    assert_eq!(names, ["n", "capability"]);
}

#[test]
fn devices_that_a_third_log_does_not_tell_apart_count_as_one() {
    let run = three_devices();
    run.write("pytorch.txt", log(80, 8, true));
    let logs = ["50.txt", "pytorch.txt", "100.txt"];
    let trained = learn(&run, &logs, |_| ());
    assert!(trained.warnings.iter().any(|warning| warning.starts_with("GPU 50 or GPU 100: no feature")));
    let apart = learn(&run, &logs[..2], |_| ());
    assert!(!apart.warnings.iter().any(|warning| warning.contains("no feature")), "{:?}", apart.warnings);
}

#[test]
fn the_same_input_on_two_devices_counts_once_and_is_held_out_on_both() {
    let run = three_devices();
    let names = ["50.txt", "100.txt"];
    let promise =
        |max_risk| Params { max_risk, ..Params::new(names.map(|name| run.path(name)).to_vec(), "T") };
    let trained = train(&promise(None)).unwrap();
    // All inputs are in both logs.
    let held_out = &trained.held_out;
    assert_eq!((held_out.evaluation.comparison.model.inputs % 2, held_out.train_inputs % 2), (0, 0));
    // About 400 inputs of each log cannot show 2 %; twice as many could.
    let one = train(&Params::new(vec![run.path("50.txt")], "T")).unwrap();
    let share = |trained: &TrainedModel| trained.model.promise.as_ref().map(|promise| promise.target);
    assert_eq!((share(&trained), share(&one)), (Some(0.05), Some(0.05)));
}

#[test]
fn devices_that_cannot_be_told_apart_are_refused() {
    let run = three_devices();
    run.write("a.txt", log(100, 9, false).replace("GPU 100", "other")).write("b.txt", log(50, 9, true));
    for (args, part) in [
        (&["100.txt", "a.txt"][..], "autoheuristic_rs.device.name"),
        (&["100.txt", "b.txt"], "autoheuristic_rs"),
    ] {
        let (code, stdout, stderr) = run.train(args);
        assert!(code != 0 && stdout.is_empty() && stderr.contains(part), "{args:?}: {stderr}");
    }
    run.write("c.txt", log(50, 9, false).replace("\"tiled\"", "\"other\""));
    let (code, _, stderr) = run.train(&["100.txt", "c.txt"]);
    assert!(code != 0 && stderr.contains("name"), "{stderr}");
}
