//! Features that some inputs lack: a missing value is a value that splits test.

use crate::common;

use std::fmt::Write as _;

use ah_model::{Context, Model, Unsure, Value};
use ah_train::{LearnerKind, MaxRisk, Params, TrainedModel, train};
use common::Run;

/// A log of 900 inputs; 250 lack `density`, and 180 lack `layout`. Without a density `scan` is
/// fastest, with one the threshold 0.5 decides between `dense` and `sparse`; without a layout `copy` is.
fn log() -> String {
    let mut text = String::from(
        r#"{"name": "own", "device_capa": [0, 0], "numerical_features": ["n", "density"], "categorical_features": ["layout"]}"#,
    );
    text.push_str("\nn,density,layout,choice,feedback\n");
    for i in 0..900_u32 {
        let (n, share) = (100 + i, f64::from(i * 7919 % 900) / 900.0);
        let density = (i * 577 % 900 >= 250).then_some(share);
        let layout = if i % 5 == 0 { "" } else { ["rows", "columns"][(i % 2) as usize] };
        let best = match (density, layout) {
            (_, "") => "copy",
            (None, _) => "scan",
            (Some(share), _) if share <= 0.5 => "sparse",
            _ => "dense",
        };
        let written = density.map_or(String::new(), |x| x.to_string());
        for (choice, slower) in [("copy", 1.6), ("scan", 1.5), ("sparse", 1.4), ("dense", 1.3)] {
            let noise = 1.0 + f64::from(i * 37 % 101) / 10_000.0;
            let ms = noise * if choice == best { 1.0 } else { slower };
            let _ = writeln!(text, "{n},{written},{layout},{choice},{ms}");
        }
    }
    text
}

fn learn(log: &str, change: impl FnOnce(&Run, &mut Params)) -> TrainedModel {
    let run = Run::new();
    run.write("log.txt", log);
    let mut params = Params::new(vec![run.path("log.txt")], "Own");
    params.fallback = Some("scan".to_owned());
    params.max_risk = Some(MaxRisk::None);
    change(&run, &mut params);
    train(&params).unwrap()
}

fn choice(trained: &TrainedModel, values: &[Value]) -> Result<String, Unsure> {
    trained.model.choose(values).map(|choice| trained.model.choice_name(choice).to_owned())
}

fn values(n: f64, density: f64, layout: &str) -> Vec<Value> {
    vec![n.into(), density.into(), layout.into()]
}

#[test]
fn every_input_is_learned_from_and_missing_values_decide() {
    for learner in [LearnerKind::CostTree, LearnerKind::Boosted, LearnerKind::Linfa] {
        let trained = learn(&log(), |_, params| params.learner = Some(learner));
        let model = &trained.model;
        assert!(!trained.warnings.iter().any(|w| w.contains("not learned from")), "{:?}", trained.warnings);
        let metrics = &trained.held_out.evaluation.comparison.model;
        assert_eq!(trained.held_out.train_inputs + metrics.inputs, 900);
        assert!(metrics.slowdown < 1.005 && metrics.coverage == 1.0, "{learner:?}: {metrics:?}");
        assert_eq!(Vec::from_iter(model.missing.iter().copied()), [1], "{learner:?}");
        let read = Model::parse(&model.to_json()).expect("some leaves have no range of `density`");
        assert_eq!(read.to_json(), model.to_json());
        let choose = |density: f64, layout: &str| choice(&trained, &values(500.0, density, layout));
        assert_eq!(choose(f64::NAN, "rows").as_deref(), Ok("scan"));
        assert_eq!(choose(0.1, "rows").as_deref(), Ok("sparse"));
        assert_eq!(choose(0.9, "rows").as_deref(), Ok("dense"));
        assert_eq!(choose(f64::NAN, "").as_deref(), Ok("copy"));
        // A context that lacks them has the same values.
        assert_eq!(choice(&trained, &model.values(&Context::new().with("n", 500))).as_deref(), Ok("copy"));
        // Training saw each `n`.
        let used = model.tree.tests().any(|test| test.column.slot == 0);
        assert!(!used || choice(&trained, &values(f64::NAN, 0.1, "rows")).is_err());
    }
}

#[test]
fn words_name_what_is_missing() {
    let trained = learn(&log(), |_, params| params.learner = Some(LearnerKind::CostTree));
    let explained = trained.model.explain(&values(500.0, f64::NAN, "rows"), None);
    for expected in
        ["\n  density = missing: density is missing\n", "\n  layout = rows: layout is not missing\n"]
    {
        assert!(explained.contains(expected), "{explained}");
    }
}

#[test]
fn a_feature_that_was_never_missing_declines() {
    let complete: String =
        log().lines().filter(|line| !line.contains(",,")).map(|l| format!("{l}\n")).collect();
    let trained = learn(&complete, |_, _| {});
    assert!(trained.model.missing.is_empty());
    assert_eq!(choice(&trained, &values(500.0, f64::NAN, "rows")), Err(Unsure::Precondition));
    assert_eq!(choice(&trained, &values(500.0, 0.1, "")).unwrap(), "sparse", "no test needs the layout");
}

#[test]
fn derived_features_of_missing_ones_are_missing() {
    let toml = "name = \"own\"\nfallback = [\"scan\"]\n\
        [[feature]]\nname = \"n\"\nkind = \"numerical\"\ninteger = true\n\
        [[feature]]\nname = \"density\"\nkind = \"numerical\"\n\
        [[feature]]\nname = \"layout\"\nkind = \"categorical\"\n\
        [[derived]]\nname = \"twice\"\nexpression = \"2 * density\"\n\
        [[derived]]\nname = \"is dense\"\nexpression = \"density > 0.5\"\n";
    let trained = learn(&log(), |run, params| {
        run.write("own.toml", toml);
        params.optimization = Some(run.path("own.toml"));
    });
    let model = &trained.model;
    assert_eq!(Vec::from_iter(model.missing.iter().copied()), [1, 3, 4]);
    // A truth value cannot be missing, so this one is a number now.
    assert_eq!(model.features.derived()[1].0.expression, "if density > 0.5 then 1 else 0");
    assert_eq!(trained.held_out.train_inputs + trained.held_out.evaluation.comparison.model.inputs, 900);
    assert!(trained.held_out.evaluation.comparison.model.slowdown < 1.005);
    assert_eq!(choice(&trained, &values(500.0, f64::NAN, "rows")).as_deref(), Ok("scan"));
    assert_eq!(choice(&trained, &values(500.0, 0.9, "rows")).as_deref(), Ok("dense"));
}
