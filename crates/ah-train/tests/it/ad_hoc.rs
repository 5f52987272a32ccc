//! Logs of optimizations that only the log declares.

use std::fmt::Write as _;

use ah_model::{Context, Error, Model, Value};
use ah_train::{Params, TrainedModel, train};

/// Whole numbers that look drawn at random.
fn size(seed: u64, limit: u64) -> u64 {
    1 + (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % limit
}

/// A log where the small kernel is faster up to 40,000 elements, whatever the shape.
fn shapes(inputs: u64) -> String {
    let head = r#"{"name": "blur", "shared_memory": 0, "device_capa": [0, 0], "numerical_features": ["rows", "row length"], "categorical_features": ["layout"]}"#;
    let mut text = format!("{head}\nrows,row length,layout,choice,feedback\n");
    for i in 0..inputs {
        let (rows, length) = (size(2 * i, 400), size(2 * i + 1, 400));
        let small = if rows * length <= 40_000 { 1.0 } else { 2.0 };
        let layout = ["rows", "columns"][i as usize % 2];
        for (choice, time) in [("small", small), ("large", 1.5)] {
            let _ = writeln!(text, "{rows},{length},{layout},{choice},{time}");
        }
    }
    text
}

fn learn(text: &str, change: impl FnOnce(&mut Params)) -> Result<TrainedModel, Error> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.txt");
    std::fs::write(&log, text).unwrap();
    let mut params = Params::new(vec![log], "T");
    change(&mut params);
    train(&params)
}

fn decide(model: &Model, rows: f64, length: f64) -> &str {
    let layout: Value = "rows".into();
    let context: Context =
        [("rows", rows.into()), ("row length", length.into()), ("layout", layout)].into_iter().collect();
    model.choice_name(model.choose(&model.values(&context)).unwrap())
}

#[test]
fn the_product_that_decides_is_found_and_the_rest_left_out() {
    let trained = learn(&shapes(400), |_| {}).unwrap();
    let names: Vec<&str> = trained.model.features.derived().iter().map(|(d, _)| d.name.as_str()).collect();
    assert_eq!(names, ["rows * `row length`"]);
    assert_eq!(trained.model.tree.leaves().count(), 2);
    assert_eq!(decide(&trained.model, 1000.0, 30.0), "small");
    assert_eq!(decide(&trained.model, 30.0, 2000.0), "large");
    // The written model can be read: slots and categories fit the remaining features.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    trained.model.write(&path).unwrap();
    assert_eq!(decide(&Model::read(&path).unwrap(), 1000.0, 30.0), "small");
}

#[test]
fn without_a_fallback_the_heuristic_always_decides_and_says_so() {
    let trained = learn(&shapes(400), |_| {}).unwrap();
    assert!(trained.model.promise.is_none());
    assert!((trained.held_out.evaluation.comparison.model.coverage - 1.0).abs() < 1e-12);
    let said = ah_train::report::summary::trained(&trained);
    assert!(said.contains("No promise without a fallback (--fallback CHOICE)"), "{said}");
}

#[test]
fn a_named_fallback_brings_the_promise_back() {
    let trained = learn(&shapes(400), |params| params.fallback = Some("large".to_owned())).unwrap();
    assert_eq!(trained.model.choice_name(trained.model.fallback.unwrap()), "large");
    assert!(trained.model.promise.is_some());
}

#[test]
fn threads_do_not_matter() {
    let json = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learn(&shapes(200), |_| {}).unwrap().model.to_json())
    };
    assert_eq!(json(1), json(3));
}

#[test]
fn excluded_features_are_gone_and_inputs_that_differ_in_them_alone_are_one() {
    let trained = learn(&shapes(400), |params| params.exclude = vec!["layout".to_owned()]).unwrap();
    assert_eq!(trained.model.features.base().len(), 2);

    let once = shapes(40);
    let rows = once.splitn(3, '\n').last().unwrap();
    let log = once.replace(",rows,small", ",columns,small") + rows;
    let inputs = |exclude: &[&str]| {
        let exclude = exclude.iter().map(|name| (*name).to_owned()).collect();
        let trained = learn(&log, |params| params.exclude = exclude).unwrap();
        trained.held_out.train_inputs + trained.held_out.evaluation.comparison.model.inputs
    };
    assert_eq!((inputs(&[]), inputs(&["layout"])), (60, 40));
}

#[test]
fn an_unknown_excluded_feature_is_an_error_that_proposes_another() {
    let error = learn(&shapes(40), |params| params.exclude = vec!["row".to_owned()]).err().unwrap();
    let text = error.to_string();
    assert!(text.contains("exclude") && text.contains("did you mean \"rows\"?"), "{text}");
}

/// A log with these features and, on each of 120 inputs, these values; b is faster than a if the
/// first is above 60.
fn numbers(features: &[String], value: impl Fn(u64, u64) -> u64) -> String {
    let names = |joined: &str| features.join(joined);
    let quoted = if features.is_empty() { String::new() } else { format!("\"{}\"", names("\", \"")) };
    let head = format!(
        r#"{{"name": "odd", "shared_memory": 0, "device_capa": [0, 0], "numerical_features": [{quoted}], "categorical_features": []}}"#
    );
    let mut text =
        format!("{head}\n{}choice,feedback\n", features.iter().map(|f| format!("{f},")).collect::<String>());
    for input in 0..120 {
        let values: Vec<u64> = (0..features.len() as u64).map(|feature| value(input, feature)).collect();
        let row: String = values.iter().map(|v| format!("{v},")).collect();
        let b = if values.first().is_some_and(|&v| v > 60) { 1.0 } else { 3.0 };
        let _ = write!(text, "{row}a,2\n{row}b,{b}\n");
    }
    text
}

#[test]
fn one_feature_is_enough_and_a_constant_one_does_no_harm() {
    let names = |count: usize| (0..count).map(|i| format!("x{i}")).collect::<Vec<_>>();
    for count in [1, 2] {
        let log = numbers(&names(count), |input, feature| if feature == 0 { input } else { 7 });
        let trained = learn(&log, |_| {}).unwrap();
        assert!(trained.model.features.derived().is_empty(), "{count}");
        // One held-out input beside the threshold may be on its wrong side.
        assert!(trained.held_out.evaluation.comparison.model.slowdown < 1.1, "{count}");
    }
}

#[test]
fn a_thousand_features_are_learned_from() {
    let names: Vec<String> = (0..1000).map(|i| format!("x{i}")).collect();
    let log =
        numbers(&names, |input, feature| if feature == 0 { input } else { size(1000 * input + feature, 99) });
    let trained = learn(&log, |_| {}).unwrap();
    assert_eq!(trained.model.features.base().len(), 1000);
    assert!(trained.held_out.evaluation.comparison.model.slowdown < 1.1);
}

#[test]
fn without_a_feature_that_varies_there_is_nothing_to_decide_by() {
    for (features, expected) in [(vec![], "no features"), (vec!["x".to_owned()], "no feature varies")] {
        let error = learn(&numbers(&features, |_, _| 7), |_| {}).err().unwrap().to_string();
        assert!(error.contains(expected) && error.contains("found 1"), "{error}");
    }
}
