//! The default on few inputs: a few more of them do not turn the answer over.

use std::path::Path;

use ah_train::{Params, evaluate, train};
use ah_types::log;

use crate::common;

/// The numbers of inputs to learn from: fewer than a promise needs.
const SIZES: [usize; 5] = [80, 88, 100, 110, 115];
/// The inputs that judge.
const FRESH: usize = 400;

#[test]
fn neighbouring_prefixes_give_neighbouring_answers() {
    let shipped =
        |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../data/{name}/h200.txt.gz"));
    let logs = [shipped("pad_mm"), shipped("softmax")].into_iter().filter(|path| path.exists());
    let published = ["spmv_v100", "spmv_mi100", "spmv_mi250x", "spmv_xeon", "pad_mm_a100"];
    let published = published.iter().filter_map(|name| common::published(&format!("{name}.txt.gz")));
    let mut judged = 0;
    for path in logs.chain(published).take(6) {
        let log = log::read(&[&path]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let [prefix, fresh] = ["prefix.txt", "fresh.txt"].map(|name| folder.path().join(name));
        let count = log.inputs.len();
        std::fs::write(&fresh, common::part(&log, count - FRESH, count)).unwrap();
        let kept = |size: usize| {
            std::fs::write(&prefix, common::part(&log, 0, size)).unwrap();
            let trained = train(&Params::new(vec![prefix.clone()], "T")).unwrap();
            let comparison =
                evaluate(&trained.model, std::slice::from_ref(&fresh), None, false).unwrap().comparison;
            // The share of what the fallback loses that is saved.
            let [model, fallback] = [&comparison.model, &comparison.always_fallback.metrics];
            1.0 - model.slowdown.ln() / fallback.slowdown.ln()
        };
        let kept: Vec<f64> = SIZES.into_iter().map(kept).collect();
        assert!(kept.iter().all(|kept| *kept > -0.05), "{}: {kept:?}", path.display());
        let jumps = kept.windows(2).map(|two| (two[0] - two[1]).abs());
        assert!(jumps.fold(0.0, f64::max) < 0.4, "{}: {kept:?}", path.display());
        judged += 1;
    }
    assert!(judged >= 1, "the shipped logs are there");
}
