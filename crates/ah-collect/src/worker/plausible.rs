//! Whether measured times can be true.

use ah_measure::{Experiment, Failure, Measurement, interval::median_interval};
use ah_types::Outcome;

/// The greatest ratio of samples, and of the time that passed to the times in the answers, that noise explains.
const MOST_NOISE: f64 = 50.0;

/// Returns how many choices were timed, or what is wrong: a choice that failed, samples that no clock gives.
pub fn plausible(measured: Result<Measurement, Failure>, experiment: &Experiment) -> Result<String, String> {
    let measured = measured.map_err(|failure| failure.to_string())?;
    let Experiment { choices, simulated, .. } = experiment;
    let doubt = |(name, outcome): (&String, &Outcome)| match outcome {
        Ok(feedback) if !simulated => {
            let (low, high) = median_interval(feedback)?;
            let (is_copy, samples) = (feedback.iter().all(|ms| *ms == low), feedback.len());
            let copied = is_copy.then(|| format!("its {samples} samples are all {low} ms, as if copied"));
            let jumps =
                (high > low * MOST_NOISE).then(|| format!("its samples jump from {low} to {high} ms"));
            Some(format!("{name:?}: {}", copied.or(jumps)?))
        }
        Err(Failure::Failed(reason)) => Some(format!("{name:?} failed: {reason}")),
        Ok(_) | Err(Failure::Skipped(_)) => None,
        Err(failure) => Some(format!("{name:?}: {failure}")),
    };
    let doubts = choices.iter().zip(&measured.outcomes).filter_map(doubt);
    let mut doubts: Vec<String> = doubts.chain(measured.lost).collect();
    let (passed_ms, timed_ms) = (measured.measuring.as_secs_f64() * 1e3, measured.kernel_ms);
    if !simulated && passed_ms > 5.0 && timed_ms * MOST_NOISE < passed_ms {
        doubts.push(format!("its times make {timed_ms:.3} of {passed_ms:.0} ms; are they milliseconds?"));
    }
    let timed = measured.outcomes.iter().flatten().count();
    let found = format!("{timed} choices timed, {} skipped", choices.len() - timed);
    if doubts.is_empty() { Ok(found) } else { Err(doubts.join("; ")) }
}
