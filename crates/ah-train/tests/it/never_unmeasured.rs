//! A heuristic never picks a choice that was not measured there. The log is one of sorting functions, of
//! which insertion sort is skipped above 2048 numbers: the case that once took it for 963,701 numbers, 77
//! times slower than the best.

use std::fmt::Write as _;

use ah_model::{Model, Value};
use ah_train::{MaxRisk, Params, train};

/// Times in milliseconds: insertion wins on short and on nearly sorted input, where it was measured.
fn sort_log(keeps: impl Fn(f64) -> bool) -> String {
    let mut log = String::from(
        r#"{"name": "sort", "device_capa": [0, 0], "numerical_features": ["length", "disorder"], "categorical_features": []}"#,
    );
    log.push_str("\nlength,disorder,choice,feedback\n");
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1_u64 << 24) as f64
    };
    for _ in 0..600 {
        let (length, disorder) = (2.0_f64.powf(4.0 + 16.0 * random()).floor(), (random() * 100.0).floor());
        if !keeps(length) {
            continue;
        }
        let n = length * length.log2();
        let times = [
            ("std", 1e-6 * n * (0.3 + disorder / 100.0)),
            ("radix", 2e-3 + 9e-6 * length),
            ("insertion", 1e-6 * length * (0.2 + length * disorder / 2e4)),
        ];
        for (choice, ms) in times.into_iter().filter(|(c, _)| *c != "insertion" || length <= 2048.0) {
            writeln!(log, "{length},{disorder},{choice},{}", ms * (1.0 + 0.02 * random())).unwrap();
        }
    }
    log
}

fn learn(change: impl FnOnce(&mut Params)) -> Model {
    learn_from(&sort_log(|_| true), |params| {
        // Leaves of long inputs, which insertion sort never had.
        params.max_leaves = Some(64);
        change(params);
    })
}

fn learn_from(text: &str, change: impl FnOnce(&mut Params)) -> Model {
    let folder = tempfile::tempdir().unwrap();
    let (log, toml) = (folder.path().join("sort.txt"), folder.path().join("sort.toml"));
    std::fs::write(&log, text).unwrap();
    let features =
        ["length", "disorder"].map(|f| format!("[[feature]]\nname = \"{f}\"\nkind = \"numerical\"\n"));
    std::fs::write(&toml, format!("name = \"sort\"\nfallback = [\"std\"]\n{}", features.concat())).unwrap();
    let mut params = Params::new(vec![log], "Sort");
    params.optimization = Some(toml);
    params.max_risk = Some(MaxRisk::None);
    change(&mut params);
    let trained = train(&params).unwrap();
    let judged = &trained.held_out.evaluation.comparison.model;
    assert_eq!(judged.unmeasured, 0, "every choice that is taken has a time on the held-out inputs");
    assert!(judged.slowdown < 1.3, "not told what is offered, it loses {}", judged.slowdown);
    trained.model
}

/// The log declares nothing, and no input lies between 1,500 and 6,000 numbers, so a leaf of short inputs reaches beyond them.
#[test]
fn a_leaf_that_reaches_beyond_its_inputs() {
    let trained = learn_from(&sort_log(|length| !(1500.0..6000.0).contains(&length)), |params| {
        params.optimization = None;
    });
    let insertion = trained.choice_id("insertion").unwrap();
    let condition = &trained.eligible[&insertion].expression;
    assert_eq!(condition, "length <= 2048");
    for length in [2049.0, 3862.0, 5900.0] {
        let values: Vec<Value> = vec![length.into(), 1.0.into()];
        for choice in [trained.choose(&values), trained.decide(&values, |_| true)] {
            assert_ne!(choice.unwrap(), insertion, "{length}");
        }
    }
}

fn holds(model: &Model) {
    assert!(model.tree.leaves().all(|(_, leaf)| leaf.ranking.iter().all(|ranked| ranked.measured > 0)));
    assert!(model.tree.leaves().any(|(_, leaf)| leaf.ranking.len() < 3));
    let mut insertions = 0;
    for power in 40..200 {
        let (length, disorder) = (2.0_f64.powf(f64::from(power) / 10.0).floor(), f64::from(power % 100));
        let values: Vec<Value> = vec![length.into(), disorder.into()];
        if let Ok(choice) = model.choose(&values) {
            let insertion = model.choice_name(choice) == "insertion";
            insertions += u32::from(insertion);
            assert!(!insertion || length <= 2048.0, "insertion for {length} numbers: {choice:?}");
        }
    }
    assert!(insertions > 10, "where it was measured, insertion is chosen: {insertions}");
}

#[test]
fn a_choice_is_taken_only_where_it_was_measured() {
    holds(&learn(|_| {}));
    holds(&learn(|params| params.optimization = None));
    holds(&learn(|params| params.ranking = Some(2)));
    holds(&learn(|params| (params.max_depth, params.min_samples_leaf) = (Some(2), Some(40.0))));
}

/// The conditions that a log of 900 inputs teaches, where `runs` returns whether `part` has a time on an input.
fn learned(runs: impl Fn(u32, &str) -> bool) -> Vec<String> {
    let mut log = String::from(
        r#"{"name": "own", "device_capa": [0, 0], "numerical_features": ["size"], "categorical_features": ["layout"]}"#,
    );
    log.push_str("\nsize,layout,choice,feedback\n");
    for i in 0..900_u32 {
        let (size, layout) = (100 + 37 * i % 3000, ["rows", "columns", "tiles"][(i % 3) as usize]);
        let noise = 1.0 + f64::from(i * 37 % 101) / 10_000.0;
        writeln!(log, "{size},{layout},whole,{}", 2.0 * noise).unwrap();
        if runs(size, layout) {
            writeln!(log, "{size},{layout},part,{noise}").unwrap();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.txt");
    std::fs::write(&path, log).unwrap();
    let mut params = Params::new(vec![path], "Own");
    (params.fallback, params.max_risk) = (Some("whole".to_owned()), Some(MaxRisk::None));
    let model = train(&params).unwrap().model;
    model.eligible.values().map(|condition| condition.expression.clone()).collect()
}

#[test]
fn conditions_are_learned_from_where_a_choice_has_times() {
    assert_eq!(learned(|size, _| size <= 2048), ["size <= 2048"], "a power of two between the two sides");
    assert_eq!(learned(|size, _| size <= 2300), ["size <= 2299"], "else the greatest size with a time");
    assert_eq!(learned(|size, _| size >= 1024), ["size >= 1024"]);
    assert_eq!(learned(|_, layout| layout == "rows"), ["layout == \"rows\""]);
    assert_eq!(learned(|_, layout| layout != "rows"), ["layout != \"rows\""]);
    let nothing: [&str; 0] = [];
    assert_eq!(learned(|_, _| true), nothing);
    assert_eq!(
        learned(|size, layout| size <= 2048 && layout == "rows"),
        ["size <= 1987 and layout == \"rows\""],
        "two features at once: other layouts lack a time below 2048 too, so the greatest size with a time"
    );
    assert_eq!(
        learned(|size, _| (512..=2048).contains(&size) && size % 4 == 0),
        ["size >= 512 and size <= 2048 and size % 4 == 0"]
    );
    assert_eq!(learned(|size, _| size % 7 > 1), nothing);
}
