//! The numbers of a run, for its last lines.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use ah_measure::{Failure, Measurement};
use ah_types::Outcome;

/// The summary of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Inputs measured in this run.
    pub measured: u64,
    /// Inputs in the log at the start.
    pub resumed: u64,
    /// Inputs skipped altogether, by reason.
    pub skipped_inputs: BTreeMap<String, u64>,
    /// Choices skipped, by (choice, reason), and on how many inputs.
    pub skipped: BTreeMap<(String, String), u64>,
    /// Choices that failed, by (choice, reason), and on how many inputs.
    pub failed: BTreeMap<(String, String), u64>,
    /// How often each choice won.
    pub wins: BTreeMap<String, u64>,
    start: Instant,
    /// Wall time.
    pub elapsed: Duration,
    /// The time spent running choices, summed over the runners.
    pub measuring: Duration,
    /// The runners that measured at once.
    pub runners: usize,
    /// Ended by a signal.
    pub interrupted: bool,
}

/// The most winners, and the most reasons, to show.
const SHOWN: usize = 12;

impl Summary {
    /// Starts the summary of a run on a log with `resumed` inputs.
    pub(crate) fn new(resumed: u64, runners: usize) -> Self {
        Self {
            measured: 0,
            resumed,
            skipped_inputs: BTreeMap::new(),
            skipped: BTreeMap::new(),
            failed: BTreeMap::new(),
            wins: BTreeMap::new(),
            start: Instant::now(),
            elapsed: Duration::ZERO,
            measuring: Duration::ZERO,
            runners,
            interrupted: false,
        }
    }

    /// Ends the summary.
    pub(crate) fn finish(&mut self, interrupted: bool) {
        self.elapsed = self.start.elapsed();
        self.interrupted = interrupted;
    }

    /// Counts an input.
    pub(crate) fn count(&mut self, choices: &[String], result: &Result<Measurement, Failure>) {
        let measurement = match result {
            Ok(measurement) => measurement,
            Err(failure) => {
                *self.skipped_inputs.entry(failure.reason().to_owned()).or_default() += 1;
                return;
            }
        };
        self.measured += 1;
        self.measuring += measurement.measuring;
        for (choice, outcome) in choices.iter().zip(&measurement.outcomes) {
            match outcome {
                Outcome::Measured { .. } => {}
                Outcome::Skipped { reason } => {
                    *self.skipped.entry((choice.clone(), reason.clone())).or_default() += 1;
                }
                Outcome::Failed { reason } => {
                    *self.failed.entry((choice.clone(), reason.clone())).or_default() += 1;
                }
            }
        }
        if let Some((winner, _)) = measurement.winner() {
            *self.wins.entry(choices[winner.index()].clone()).or_default() += 1;
        }
    }

    /// Returns the inputs a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)]
        let measured = self.measured as f64;
        measured / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Returns the share of the runners' time that was spent running choices.
    #[must_use]
    pub fn busy(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)]
        let runners = self.runners.max(1) as f64;
        self.measuring.as_secs_f64() / (self.elapsed.as_secs_f64() * runners).max(1e-9)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measured, resumed, elapsed, .. } = self;
        write!(f, "measured {measured} inputs in {:.1} s", elapsed.as_secs_f64())?;
        write!(f, " ({:.1} inputs/s, busy measuring {:.0} %)", self.rate(), self.busy() * 100.0)?;
        if *resumed > 0 {
            write!(f, "; the log held {resumed} before")?;
        }
        let mut wins: Vec<_> = self.wins.iter().collect();
        wins.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), *name));
        if !wins.is_empty() {
            let won = wins.iter().take(SHOWN).map(|(name, n)| format!("{name} {n}"));
            write!(f, "\nwins: {}", won.collect::<Vec<_>>().join(", "))?;
            if wins.len() > SHOWN {
                write!(f, ", and {} more choices", wins.len() - SHOWN)?;
            }
        }
        for (reason, n) in &self.skipped_inputs {
            write!(f, "\nskipped {n} inputs: {reason}")?;
        }
        by_reason(f, "skipped", &self.skipped)?;
        by_reason(f, "failed", &self.failed)?;
        if self.interrupted {
            write!(f, "\ninterrupted after the current input; run the same command to continue")?;
        }
        Ok(())
    }
}

/// Returns one line for each reason: its choices, and how often it occurred.
fn by_reason(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    counts: &BTreeMap<(String, String), u64>,
) -> fmt::Result {
    let mut reasons: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for ((choice, reason), n) in counts {
        reasons.entry(reason).or_default().push((choice, *n));
    }
    for (reason, choices) in reasons.iter().take(SHOWN) {
        let times: u64 = choices.iter().map(|(_, n)| n).sum();
        let names: Vec<_> = choices.iter().take(3).map(|(name, _)| *name).collect();
        let more = if choices.len() > 3 { ", …" } else { "" };
        write!(
            f,
            "\n{what} {times} times ({} choices: {}{more}): {reason}",
            choices.len(),
            names.join(", ")
        )?;
    }
    if reasons.len() > SHOWN {
        write!(f, "\n{what} for {} more reasons: see the outcomes file", reasons.len() - SHOWN)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_run() {
        let choices: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let mut summary = Summary::new(7, 2);
        summary.skipped_inputs.insert("out of memory".to_owned(), 2);
        for fast in [0.5, 1.5, 2.0] {
            let measured = |ms: f64| Outcome::Measured { feedback: vec![ms] };
            let outcomes = vec![
                measured(1.0),
                measured(fast),
                Outcome::failed("wrong result"),
                Outcome::skipped("the processor lacks avx512f"),
                Outcome::skipped("the processor lacks avx512f"),
            ];
            let measurement = Measurement { outcomes, measuring: Duration::from_secs(1), lost: None };
            summary.count(&choices, &Ok(measurement));
        }
        summary.finish(true);
        summary.elapsed = Duration::from_secs(2);
        insta::assert_snapshot!(summary);
    }
}
