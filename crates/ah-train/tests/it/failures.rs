//! Choices that fail on some inputs, and a fallback that has no time on some.

use crate::common;

use std::fmt::Write as _;

use ah_model::{Target, Value};
use ah_train::{MaxRisk, Params, TrainedModel, train};
use common::Run;

const HEAD: &str = r#"{"name": "own", "shared_memory": 0, "device_capa": [0, 0], "numerical_features": ["n"], "categorical_features": []}
n,choice,feedback
"#;

/// A log where `fast` takes half of the time of `safe`; `fails` returns whether it fails on the i-th input.
fn log(inputs: u32, fails: impl Fn(u32) -> bool) -> String {
    let mut text = HEAD.to_owned();
    for i in 0..inputs {
        // Small noise without ties.
        let noise = 1.0 + f64::from(i * 37 % 101) / 10_000.0;
        let fast = if fails(i) { "inf".to_owned() } else { format!("{}", 2.5 * noise) };
        let _ = writeln!(text, "{i},safe,{}\n{i},fast,{fast}", 5.0 * noise);
    }
    text
}

fn learn(run: &Run, change: impl FnOnce(&mut Params)) -> TrainedModel {
    let mut params =
        Params { fallback: Some("safe".to_owned()), ..Params::new(vec![run.path("log.txt")], "Own") };
    change(&mut params);
    train(&params).unwrap()
}

#[test]
fn where_a_choice_fails_the_fallback_runs() {
    let run = Run::new();
    run.write("log.txt", log(1000, |i| i >= 500));
    for max_risk in [None, Some(MaxRisk::None)] {
        for fallback in [Some("safe".to_owned()), None] {
            let trained =
                learn(&run, |params| (params.max_risk, params.fallback) = (max_risk, fallback.clone()));
            let choose = |n: f64| {
                let picked = trained.model.choose(&[Value::Number(n)]);
                picked.ok().map(|picked| trained.model.choice_name(picked).to_owned())
            };
            assert_eq!(choose(100.0).as_deref(), Some("fast"), "{max_risk:?} {fallback:?}");
            // Declining runs the fallback too.
            assert_ne!(choose(900.0).as_deref(), Some("fast"), "{max_risk:?} {fallback:?}");
            assert_eq!(trained.held_out.evaluation.comparison.model.failed, 0);
        }
    }
}

#[test]
fn failures_break_the_promise_and_are_counted() {
    let run = Run::new();
    // No feature foretells them.
    run.write("log.txt", log(2000, |i| i * 7919 % 1000 < 40));
    let promised = learn(&run, |_| ());
    assert_eq!(promised.constant(), Some("safe"));
    assert_eq!(promised.held_out.evaluation.comparison.model.failed, 0);
    // Generated `choose` does not take a choice that fails on 4 % of the inputs.
    let always = learn(&run, |params| params.max_risk = Some(MaxRisk::None));
    assert_eq!(always.constant(), Some("safe"));
    let always = learn(&run, |params| {
        (params.max_risk, params.targets) = (Some(MaxRisk::None), vec![Target::Pytorch]);
    });
    let model = &always.held_out.evaluation.comparison.model;
    assert!(model.failed > 5 && model.over_limit > 0.02, "{model:?}");
    let args = ["log.txt", "--fallback", "safe", "--max-risk", "none", "--target", "pytorch"];
    let (_, _, stderr) = run.train(&args);
    assert!(stderr.contains("inputs the choice that it takes failed"), "{stderr}");
}

#[test]
fn the_gain_over_the_fallback_is_that_of_inputs_on_which_it_has_a_time() {
    let run = Run::new();
    let mut text = log(1000, |_| false);
    // On half of the inputs there is no `safe`, but a choice that is 20 times slower.
    for i in 0..500 {
        let noise = 1.0 + f64::from(i * 37 % 101) / 10_000.0;
        text = text.replace(&format!("\n{i},safe,{}\n", 5.0 * noise), &format!("\n{i},slow,50\n"));
    }
    run.write("log.txt", text);
    let trained = learn(&run, |params| params.max_risk = Some(MaxRisk::None));
    let model = &trained.held_out.evaluation.comparison.model;
    assert!((1.9..2.1).contains(&model.speedup_over_fallback), "{model:?}");
    assert!(model.comparable > 0 && model.comparable < model.inputs);
    let (_, stdout, _) = run.train(&["log.txt", "--fallback", "safe", "--max-risk", "none"]);
    assert!(stdout.contains(" without a time of it)"), "{stdout}");
}
