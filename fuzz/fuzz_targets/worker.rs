//! Any bytes from worker processes: a failure in words, or measurements that the log can hold.
//!
//! A byte 0 separates what one process writes from what the next one writes.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let outputs = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    match ah_collect::measure_scripted(outputs) {
        Ok(measurement) => {
            for outcome in measurement.outcomes.iter().flatten() {
                assert!(outcome.iter().all(|ms| *ms > 0.0 && ms.is_finite()), "{outcome:?}");
            }
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
});
