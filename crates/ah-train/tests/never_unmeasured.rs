//! A heuristic never picks a choice that was not measured there. The log is one of sorting functions, of
//! which insertion sort is skipped above 2048 numbers: the case that once took it for 963,701 numbers, 77
//! times slower than the best.

mod common;

use std::fmt::Write as _;

use ah_train::{MaxRisk, Params, train};
use ah_types::{Model, Value};

/// Times in milliseconds: insertion wins on short and on nearly sorted input, where it was measured.
fn sort_log() -> String {
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
    let folder = tempfile::tempdir().unwrap();
    let (log, toml) = (folder.path().join("sort.txt"), folder.path().join("sort.toml"));
    std::fs::write(&log, sort_log()).unwrap();
    let features =
        ["length", "disorder"].map(|f| format!("[[feature]]\nname = \"{f}\"\nkind = \"numerical\"\n"));
    std::fs::write(&toml, format!("name = \"sort\"\nfallback = [\"std\"]\n{}", features.concat())).unwrap();
    let mut params = Params::new(vec![log], "Sort");
    params.optimization = Some(toml);
    params.max_risk = MaxRisk::None;
    change(&mut params);
    let trained = train(&params.check().unwrap()).unwrap();
    let judged = &trained.held_out.comparison.model;
    assert_eq!(judged.plain_untimed, 0, "every plain choice has a time on the held-out inputs");
    assert!(judged.plain_slowdown < 1.3, "not told what is offered, it loses {}", judged.plain_slowdown);
    trained.model
}

fn holds(model: &Model) {
    assert!(model.tree.leaves().all(|(_, leaf)| leaf.ranking.iter().all(|ranked| ranked.measured > 0)));
    assert!(model.tree.leaves().any(|(_, leaf)| leaf.ranking.len() < 3));
    let mut insertions = 0;
    for power in 40..200 {
        let (length, disorder) = (2.0_f64.powf(f64::from(power) / 10.0).floor(), f64::from(power % 100));
        let values: Vec<Value> = vec![length.into(), disorder.into()];
        if let Ok(ranked) = model.choose(&values) {
            let insertion = model.choice_name(ranked.choice) == "insertion";
            insertions += u32::from(insertion);
            assert!(!insertion || length <= 2048.0, "insertion for {length} numbers: {ranked:?}");
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
