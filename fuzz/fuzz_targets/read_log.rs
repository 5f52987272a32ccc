//! Any bytes as a log: an error or a log whose parts refer to things that exist.
#![no_main]
use ah_types::log::{self, ReadOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.txt");
    std::fs::write(&path, bytes).unwrap();
    for skip_bad_rows in [false, true] {
        if let Ok(log) = log::read_with(&[&path], ReadOptions { skip_bad_rows, max_rows: None }) {
            for sample in &log.samples {
                assert!(sample.feedback > 0.0);
                assert!(!log.choice_name(sample.choice).is_empty());
                assert_eq!(log.inputs[sample.input as usize].values.len(), log.schema.len());
            }
        }
    }
});
