//! Learning from PyTorch's published logs.

mod common;

use ah_train::{Params, TrainedModel, train};
use common::published;

fn learn(log: &str, seed: u64) -> Option<TrainedModel> {
    let mut params = Params::new(vec![published(log)?], "T");
    params.max_depth = Some(8);
    params.seed = seed;
    Some(train(&params.check().unwrap()).unwrap())
}

/// The mean held-out slowdown over three splits; a single split scatters by 0.001.
fn held_out(log: &str) -> Option<f64> {
    let logs: Option<Vec<f64>> =
        (0..3).map(|seed| Some(learn(log, seed)?.held_out.always.slowdown.ln())).collect();
    let logs = logs?;
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// The slowdown is at most 0.3 percentage points above that of a scikit-learn tree of depth 8.
fn check(log: &str, scikit_learn: f64) {
    let Some(slowdown) = held_out(log) else { return };
    eprintln!("{log}: {slowdown:.4}, scikit-learn {scikit_learn}");
    assert!(slowdown <= scikit_learn + 0.003, "{log}: {slowdown:.4}, scikit-learn {scikit_learn}");
}

#[test]
fn mixed_mm_h100() {
    check("mixedmm_h100.txt.gz", 1.0097);
}

#[test]
fn mixed_mm_a100() {
    check("mixedmm_a100.txt.gz", 1.0081);
}

#[test]
fn pad_mm_a100() {
    check("pad_mm_a100.txt.gz", 1.0057);
}

#[test]
fn every_log_learns() {
    for (log, inputs) in [
        ("mm_a100.txt.gz", 2148),
        ("mm_hf_a100.txt.gz", 232),
        ("mm_timm_a100.txt.gz", 740),
        ("flexattention_a100.txt.gz", 4972),
    ] {
        let Some(trained) = learn(log, 0) else { return };
        let held_out = &trained.held_out;
        assert_eq!(held_out.train_inputs + held_out.comparison.model.inputs, inputs, "{log}");
        assert!(held_out.always.slowdown <= held_out.comparison.always_fallback.metrics.slowdown, "{log}");
        assert!(trained.model.trees[0].depth() <= 8);
        trained.model.validate().unwrap();
    }
}
