//! Any bytes as a log: an error in words, or a log whose parts refer to things that exist.
#![no_main]
use std::path::Path;

use ah_model::{Error, Fault, RowNumber};
use ah_types::log::{self, Log, ReadOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = |skip_bad_rows| {
        let options = ReadOptions { skip_bad_rows, ..ReadOptions::default() };
        log::read_bytes(Path::new("train.txt"), bytes, options)
    };
    match read(false) {
        Ok(log) => check(&log),
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with("train.txt:") && text.len() < 4000, "{text}");
            assert!(!text.contains(|c: char| c.is_control()), "{text:?}");
            // In a bad head there is no row to pass over.
            let is_row = |fault: &Fault| matches!(fault.row, Some(RowNumber::Line(line)) if line > 2);
            if matches!(&error, Error::Malformed(fault) if is_row(fault)) {
                let _ = read(true).map(|log| check(&log));
            }
        }
    }
});

fn check(log: &Log) {
    for sample in &log.samples {
        assert!(sample.feedback > 0.0);
        assert!(!log.choice_name(sample.choice).is_empty());
        assert_eq!(log.inputs[sample.input as usize].values.len(), log.schema.len());
    }
}
