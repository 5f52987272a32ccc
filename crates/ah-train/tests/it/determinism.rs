//! The same measurements and seed give the same model, whatever the order of rows and the number of
//! threads.

use crate::common;

use ah_train::{LearnerKind, Params, train};
use common::log;
use proptest::prelude::*;

fn model(text: &str, learner: LearnerKind, threads: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.txt");
    std::fs::write(&path, text).unwrap();
    let mut params = Params::new(vec![path], "T");
    params.learner = Some(learner);
    params.seed = Some(7);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut model = pool.install(|| train(&params)).unwrap().model;
    // The bytes of the log differ, and only they may.
    model.provenance.logs.clear();
    model.to_json()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn order_of_rows_and_threads_do_not_matter(keys in prop::collection::vec(any::<u32>(), 360), threads in 1_usize..4) {
        let text = log(60);
        let lines: Vec<&str> = text.lines().collect();
        let mut rows: Vec<(u32, &str)> = keys.into_iter().zip(lines[2..].iter().copied()).collect();
        rows.sort();
        let shuffled: Vec<&str> = lines[..2].iter().copied().chain(rows.into_iter().map(|r| r.1)).collect();
        prop_assert_eq!(model(&(shuffled.join("\n") + "\n"), LearnerKind::Auto, threads), model(&text, LearnerKind::Auto, 1));
    }
}

#[test]
fn linfa_is_made_deterministic() {
    let text = log(60);
    let first = model(&text, LearnerKind::Linfa, 1);
    for _ in 0..10 {
        assert_eq!(model(&text, LearnerKind::Linfa, 2), first);
    }
}
