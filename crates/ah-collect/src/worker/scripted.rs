//! A worker that is only what it says, for tests: any bytes are a failure in words, or measurements that a log can hold.

use std::io::Cursor;
use std::time::Duration;

use ah_measure::Measurement;
use ah_measure::sampling::Seed;

use super::Worker;
use super::description::Named;
use super::process::Process;

/// Measures one input with a worker whose processes write these bytes, one text for each process; without a further
/// one, none can be started.
///
/// # Errors
/// The reason in words.
pub fn measure_scripted(outputs: impl Iterator<Item = Vec<u8>>) -> Result<Measurement, String> {
    let mut outputs = outputs.collect::<Vec<_>>().into_iter();
    let start = move || match outputs.next() {
        Some(output) => Process::over(std::io::sink(), Cursor::new(output)),
        None => Err("there is no further process".to_owned()),
    };
    let worker =
        Worker::over(Box::new(start), Duration::from_secs(20), Duration::ZERO, Named::ByWorker(None));
    let mut worker = worker.map_err(|e| e.to_string())?;
    let policy = worker.description.timing;
    let context = worker.draw(Seed(0, 0)).map_err(|failure| failure.to_string())?;
    worker.accepts(&context)?;
    worker.measure(&context, Seed(0, 0), &policy).map_err(|failure| failure.to_string())
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;

    const DESCRIPTION: &str = r#"{"id":1,"protocol":1,"name":"x","choices":["a","b"],"features":[{"name":"n","kind":"numerical"}],"inputs":{"n":[1,2]},"can":["check"],"simulated":true,"batch":2,"timing":{"max_samples":2,"warmup_runs":1}}"#;

    /// The lines of an honest worker whose choices take these times.
    fn honest(a: f64, b: f64) -> String {
        let mut text =
            format!("{DESCRIPTION}\n{{\"id\":2}}\n{{\"id\":3,\"cell\":1}}\nnoise\n{{\"id\":3,\"cell\":0}}\n");
        for id in [4, 5, 6] {
            text += &format!(
                "{{\"id\":{id},\"cell\":0,\"ms\":[{a}]}}\n{{\"id\":{id},\"cell\":1,\"ms\":[{b}]}}\n"
            );
        }
        text
    }

    fn valid(measured: &Result<Measurement, String>) {
        match measured {
            Ok(measurement) => {
                for outcome in &measurement.outcomes {
                    match outcome {
                        Ok(feedback) => assert!(feedback.iter().all(|ms| *ms > 0.0 && ms.is_finite())),
                        Err(failure) => assert!(!failure.reason().is_empty()),
                    }
                }
            }
            Err(reason) => assert!(!reason.is_empty() && reason.len() < 2000, "{reason}"),
        }
    }

    #[test]
    fn an_honest_script_is_measured() {
        // The turns are shuffled, and the script does not know whose turn it is.
        let measurement = measure_scripted([honest(0.5, 0.5).into_bytes()].into_iter()).unwrap();
        assert_eq!(measurement.outcomes, [Ok(vec![0.5; 2]), Ok(vec![0.5; 2])]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_failure_in_words(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            valid(&measure_scripted([bytes].into_iter()));
        }

        #[test]
        fn a_damaged_script_is_a_failure_in_words(
            at in 0_usize..1000, byte: u8, cut in 0_usize..1000, ms in any::<f64>()
        ) {
            let mut bytes = honest(ms, 0.5).into_bytes();
            let end = bytes.len();
            bytes[at % end] = byte;
            let rest = honest(1.0, 0.5).into_bytes();
            bytes.truncate(end.min(cut + DESCRIPTION.len()));
            valid(&measure_scripted([bytes, rest].into_iter()));
        }
    }
}
