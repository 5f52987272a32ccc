//! The default on few inputs: a few more of them do not turn the answer over.

use std::path::Path;

use ah_train::{Params, evaluate, train};
use ah_types::log;

use crate::common;

/// The numbers of inputs to learn from: fewer than a promise needs.
const SIZES: [usize; 5] = [80, 88, 100, 110, 115];
/// The inputs that judge.
const FRESH: usize = 400;

/// Returns the text of a log of these inputs of another, in its order.
fn part(log: &log::Log, from: usize, to: usize) -> String {
    let names: Vec<&str> = log.schema.features().iter().map(|f| f.name.as_str()).collect();
    let metadata = serde_json::to_string(&log.metadata).unwrap();
    let mut text = format!("{metadata}\n{},choice,feedback\n", names.join(","));
    let count = log.inputs.len();
    // A walk that visits each input once, so that no prefix is a corner of the inputs.
    let step = (7919..).find(|step| gcd(*step, count) == 1).unwrap();
    let mut place = vec![usize::MAX; count];
    (0..count).for_each(|at| place[at * step % count] = at);
    for sample in &log.samples {
        if (from..to).contains(&place[sample.input as usize]) {
            let input = &log.inputs[sample.input as usize].text;
            text += &format!("{input},{},{}\n", log.choice_name(sample.choice), sample.feedback);
        }
    }
    text
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

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
        std::fs::write(&fresh, part(&log, count - FRESH, count)).unwrap();
        let kept = |size: usize| {
            std::fs::write(&prefix, part(&log, 0, size)).unwrap();
            let trained = train(&Params::new(vec![prefix.clone()], "T")).unwrap();
            let comparison =
                evaluate(&trained.model, std::slice::from_ref(&fresh), false).unwrap().comparison;
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
