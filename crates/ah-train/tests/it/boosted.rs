//! Boosted trees beside one that people can read.

use std::fmt::Write as _;

use crate::common::learner;

use ah_model::Model;
use ah_train::{Params, TrainedModel, train};

/// Numbers from 0 (included) to 1 (excluded).
fn random() -> impl FnMut() -> f64 {
    let mut state = 7_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1_u64 << 24) as f64
    }
}

/// The time of a choice is the exponential of a weighted sum of four features: boundaries are oblique, so a small
/// tree needs many steps along each. `d` was not measured where the first feature is below 50. `noise` returns how much a
/// time may vary on an input.
fn oblique(inputs: usize, noise: impl Fn([f64; 4]) -> f64) -> String {
    let mut log = String::from(
        r#"{"name": "oblique", "device_capa": [0, 0], "numerical_features": ["p", "q", "r", "s"], "categorical_features": []}"#,
    );
    log.push_str("\np,q,r,s,choice,feedback\n");
    let weights = [("a", [3.0, -2.0, 1.0, 0.5]), ("b", [-1.0, 3.0, -2.0, 1.0]), ("c", [1.0, 1.0, 2.0, -3.0])];
    let weights = weights.into_iter().chain([("d", [-2.0, -1.0, 0.0, 2.5])]);
    let weights: Vec<(&str, [f64; 4])> = weights.collect();
    let mut random = random();
    for _ in 0..inputs {
        let x: [f64; 4] = std::array::from_fn(|_| (random() * 100.0).floor());
        for (choice, weights) in weights.iter().filter(|(choice, _)| *choice != "d" || x[0] >= 50.0) {
            let sum: f64 = weights.iter().zip(x).map(|(w, x)| w * x / 100.0).sum();
            let time = (sum * 0.5 + noise(x) * random()).exp();
            writeln!(log, "{},{},{},{},{choice},{time}", x[0], x[1], x[2], x[3]).unwrap();
        }
    }
    log
}

fn learn(inputs: usize, change: impl FnOnce(&mut Params)) -> TrainedModel {
    learn_from(&oblique(inputs, |_| 0.01), change)
}

fn learn_from(text: &str, change: impl FnOnce(&mut Params)) -> TrainedModel {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.txt");
    std::fs::write(&log, text).unwrap();
    let mut params = Params::new(vec![log], "T");
    change(&mut params);
    train(&params).unwrap()
}

/// Every leaf ranks choices that were measured, and no others.
fn takes_only_what_was_measured(model: &Model) {
    for (_, leaf) in model.tree.leaves() {
        assert!(leaf.samples > 0 && !leaf.ranking.is_empty());
        assert!(leaf.ranking.iter().all(|ranked| ranked.measured > 0));
    }
}

#[test]
fn boosted_trees_lose_less_than_one() {
    let boosted = learn(700, |_| {});
    let alone = learn(700, |params| params.learner = Some(ah_train::LearnerKind::CostTree));
    let loss = |trained: &TrainedModel| trained.held_out.evaluation.comparison.model.slowdown - 1.0;
    assert_eq!(learner(&boosted), "boosted");
    assert!(loss(&boosted) < 0.6 * loss(&alone), "{} and {}", loss(&boosted), loss(&alone));
    takes_only_what_was_measured(&boosted.model);
}

#[test]
fn on_a_cpu_the_time_of_a_decision_counts() {
    let device = r#""autoheuristic_rs": {"device": {"kind": "cpu", "model": "x", "cores": 2}}, "numerical"#;
    let milliseconds = oblique(1000, |_| 0.01).replacen("\"numerical", device, 1);
    // The same in tenths of nanoseconds: any decision takes longer than what it saves.
    let short = milliseconds.lines().enumerate().map(|(line, text)| match text.rsplit_once(',') {
        Some((start, time)) if line > 1 => format!("{start},{:e}\n", time.parse::<f64>().unwrap() * 1e-7),
        _ => format!("{text}\n"),
    });
    assert!(learn_from(&milliseconds, |_| ()).model.boosters.len() > 1);
    assert!(learn_from(&short.collect::<String>(), |_| ()).model.boosters.is_empty());
}

#[test]
fn boosted_trees_keep_the_promise_and_still_save() {
    let trained = learn(2000, |params| params.fallback = Some("a".to_owned()));
    assert_eq!(learner(&trained), "boosted");
    let promise = trained.model.promise.as_ref().unwrap();
    assert!(promise.violations * 100 <= promise.inputs, "{promise:?}");
    let judged = &trained.held_out.evaluation.comparison;
    assert!(judged.model.slowdown < judged.always_fallback.metrics.slowdown);
    takes_only_what_was_measured(&trained.model);
}

#[test]
fn an_input_without_the_fallback_is_decided() {
    // `d` is not offered where the first feature is below 50.
    // Times differ by 1 % of noise, so some picks are slower than the fallback.
    let trained = learn(2000, |params| {
        params.learner = Some(ah_train::LearnerKind::Boosted);
        params.fallback = Some("d".to_owned());
        params.max_slowdown = Some(1.0);
        // No pick of the training part may be slower: always deciding breaks that.
        params.max_risk = Some(ah_train::MaxRisk::Share(0.003));
        // Any other decision takes time, which alone breaks this limit.
        params.targets = vec![ah_train::Target::Pytorch];
    });
    let table = &trained.held_out.evaluation.table;
    let fallback = table.choice_id("d").unwrap();
    let without = trained
        .held_out
        .evaluation
        .judged
        .iter()
        .filter(|judged| table.cell(judged.input, fallback).is_none());
    let decided = without.clone().filter(|judged| !judged.ranking.is_empty()).count();
    // The fallback counts as offered everywhere, so it is the answer where nothing else saves enough.
    assert!(without.count() > 100 && decided > 50, "{decided}");
    assert!(
        trained.held_out.evaluation.comparison.model.coverage < 1.0,
        "some choice is not allowed somewhere"
    );
}

#[test]
fn a_limit_on_the_depth_holds() {
    let trained = learn(700, |params| params.max_depth = Some(5));
    assert!(crate::common::depth(&trained.model.tree) <= 5);
    assert!(!trained.model.boosters.is_empty());
    assert!(trained.model.boosters.iter().all(|tree| crate::common::depth(tree) <= 5));
}

#[test]
fn noise_is_not_learned() {
    let mut log = String::from(
        r#"{"name": "noise", "device_capa": [0, 0], "numerical_features": ["p", "q"], "categorical_features": []}"#,
    );
    log.push_str("\np,q,choice,feedback\n");
    let mut random = random();
    for _ in 0..116 {
        let (p, q) = ((random() * 1e6).floor(), (random() * 1e6).floor());
        for (choice, time) in [("a", 1.0), ("b", 1.05), ("c", 1.1), ("d", 1.2)] {
            writeln!(log, "{p},{q},{choice},{}", time * (0.5 * random()).exp()).unwrap();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.txt");
    std::fs::write(&path, log).unwrap();
    let lost: f64 = (0..4)
        .map(|seed| {
            let params = Params { seed: Some(seed), ..Params::new(vec![path.clone()], "T") };
            let judged = train(&params).unwrap().held_out.evaluation.comparison;
            judged.model.slowdown / judged.best_single.metrics.slowdown - 1.0
        })
        .sum();
    assert!(lost < 0.02, "{lost}");
}
