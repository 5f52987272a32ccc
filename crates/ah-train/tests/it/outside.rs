//! Far from all measured inputs a heuristic declines.

use crate::common;

use std::fmt::Write as _;

use ah_model::{Model, Unsure};
use ah_train::{MaxRisk, Outside, Params, evaluate, train};
use common::Run;

/// A log of sizes `from` to `to`, where `large` is the faster one above 500. The sign of `shift` says nothing.
fn log(from: u32, to: u32, fallback: &str) -> String {
    let mut text = format!(
        r#"{{"name": "own", "device_capa": [0, 0], "numerical_features": ["n", "shift", "idle"], "categorical_features": [], "autoheuristic_rs": {{"format": 1, "integer_features": ["n"], "fallback": [{fallback}], "seed": 0, "tool": "test"}}}}
n,shift,idle,choice,feedback
"#
    );
    for at in 0..400 {
        let n = from + at * (to - from) / 399;
        let shift = f64::from(at * 37 % 101) / 50.0 - 1.0;
        let large = if n > 500 { 1.0 } else { 2.0 };
        let _ = writeln!(text, "{n},{shift},{at},small,1.5\n{n},{shift},{at},large,{large}");
    }
    text
}

fn learn(run: &Run, text: String, outside: Option<Outside>) -> Model {
    run.write("log.txt", text);
    let params =
        Params { max_risk: Some(MaxRisk::None), outside, ..Params::new(vec![run.path("log.txt")], "Own") };
    train(&params).unwrap().model
}

fn at(model: &Model, n: f64) -> Result<&str, Unsure> {
    let values = [n, 0.0, 0.0].map(Into::into);
    model.choose(&values).map(|choice| model.choice_name(choice))
}

#[test]
fn a_tree_declines_where_a_size_is_twice_as_large_as_all_measured_ones() {
    let run = Run::new();
    let model = learn(&run, log(100, 1000, "\"small\""), None);
    assert_eq!(model.precondition.as_ref().unwrap().expression, "n >= 50 and n <= 2000");
    assert_eq!(
        [49.0, 50.0, 2000.0, 2001.0].map(|n| at(&model, n).ok()),
        [None, Some("small"), Some("large"), None]
    );
    assert_eq!(at(&model, 1e9), Err(Unsure::Precondition));
    let explained = model.explain(&[1e9, 0.0, 0.0].map(Into::into), None);
    assert!(explained.contains("n >= 50 and n <= 2000. The program takes small."), "{explained}");
    // Inputs of another log are counted.
    run.write("fresh.txt", log(500, 4000, "\"small\""));
    let evaluation = evaluate(&model, &[run.path("fresh.txt")], None, false).unwrap();
    let says =
        |warning: &String| warning.contains(" of 400 inputs, which are outside of n >= 50 and n <= 2000");
    assert!(evaluation.warnings.iter().any(says), "{:?}", evaluation.warnings);
    assert!((0.4..0.5).contains(&evaluation.comparison.model.coverage));
}

#[test]
fn it_decides_where_that_is_asked_for_or_nothing_else_can() {
    let run = Run::new();
    // No size is below 1.
    let model = learn(&run, log(1, 1000, "\"small\""), None);
    assert_eq!(model.precondition.unwrap().expression, "n <= 2000");
    let decides = learn(&run, log(100, 1000, "\"small\""), Some(Outside::Decide));
    assert_eq!((at(&decides, 1e9), decides.precondition.is_none()), (Ok("large"), true));
    let without_fallback = learn(&run, log(100, 1000, ""), None);
    assert_eq!(at(&without_fallback, 1e9), Ok("large"));
    // What takes one choice everywhere reads nothing.
    let constant = learn(&run, log(501, 1000, "\"small\""), None);
    assert_eq!((at(&constant, 1e9), constant.precondition.is_none()), (Ok("large"), true));
}
