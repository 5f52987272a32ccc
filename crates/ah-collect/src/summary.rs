//! The numbers of a run, for its last lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use ah_measure::{Failure, Measurement};
use ah_model::shown;

use crate::units::{count, duration};

/// The summary of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Inputs measured in this run.
    pub measured: u64,
    /// Inputs and choices without a time.
    untimed: BTreeMap<KindKey, Kind>,
    /// How often each choice won.
    wins: BTreeMap<String, u64>,
    /// Wall time.
    pub elapsed: Duration,
    /// The time spent running choices, summed over the workers.
    measuring: Duration,
    /// The workers that measured at once.
    workers: usize,
    /// Ended by a signal.
    pub interrupted: bool,
}

/// What counts together: the outcome in words, whether it is a choice's, and the reason without its numbers.
type KindKey = (&'static str, bool, String);

/// Reasons that differ only in their numbers.
#[derive(Clone, Debug, Default)]
struct Kind {
    reasons: BTreeSet<String>,
    /// Empty for whole inputs.
    choices: BTreeSet<String>,
    times: u64,
}

/// The most winners, and the most reasons, to show.
const SHOWN: usize = 12;

/// The most characters of a reason.
const SHOWN_OF_REASON: usize = 300;

/// The reason why an input is skipped if each of its choices is.
pub(crate) const NO_CHOICE: &str = "no choice is offered";

impl Summary {
    /// Starts the summary of a run.
    pub(crate) fn new(workers: usize) -> Self {
        Self { workers, ..Self::default() }
    }

    /// Counts an input.
    pub(crate) fn count(&mut self, choices: &[String], result: &Result<Measurement, Failure>) {
        let measurement = match result {
            Ok(measurement) => measurement,
            Err(failure) => return self.leave_out(None, failure),
        };
        for (choice, outcome) in choices.iter().zip(&measurement.outcomes) {
            if let Err(failure) = outcome {
                self.leave_out(Some(choice), failure);
            }
        }
        if measurement.is_skipped() {
            self.leave_out(None, &Failure::skipped(NO_CHOICE));
        }
        self.measured += u64::from(measurement.leaves_rows());
        self.measuring += measurement.measuring;
        if let Some((winner, _)) = measurement.winner() {
            *self.wins.entry(choices[winner.index()].clone()).or_default() += 1;
        }
    }

    /// Counts a choice, or a whole input, without a time.
    fn leave_out(&mut self, choice: Option<&String>, failure: &Failure) {
        let (outcome, later) = match failure {
            Failure::Failed(_) => ("failed", ""),
            Failure::Skipped(_) => ("skipped", ""),
            Failure::Unmeasured(_) | Failure::DeviceLost(_) => {
                ("not measured", "; a later run measures them")
            }
        };
        let reason = format!("{}{later}", failure.reason());
        let kind = self.untimed.entry((outcome, choice.is_some(), without_numbers(&reason))).or_default();
        kind.reasons.insert(reason);
        kind.choices.extend(choice.cloned());
        kind.times += 1;
    }

    /// Writes one line for each kind of reason.
    fn write_untimed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((what, ..), Kind { reasons, choices, times }) in self.untimed.iter().take(SHOWN) {
            let reason = shown::cut(reasons.first().map_or("", String::as_str), SHOWN_OF_REASON);
            let alike = reasons.len() - 1;
            let names = choices.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
            let on = match choices.len() {
                0 => count(*times, "input"),
                1..=3 => format!("{} ({names})", count(*times, "time")),
                all => format!("{} ({names} and {} more)", count(*times, "time"), all - 3),
            };
            write!(f, "\n{what} {on}: {reason}")?;
            if alike > 0 {
                write!(f, " (and {} like it)", count(alike as u64, "reason"))?;
            }
        }
        if self.untimed.len() > SHOWN {
            let more = count((self.untimed.len() - SHOWN) as u64, "more reason");
            write!(f, "\n{more}: see the outcomes file")?;
        }
        Ok(())
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measured, elapsed, .. } = self;
        write!(f, "measured {} in {}", count(*measured, "input"), duration(*elapsed))?;
        if *measured > 0 {
            let seconds = elapsed.as_secs_f64().max(1e-9);
            let busy = self.measuring.as_secs_f64() / (seconds * self.workers.max(1) as f64) * 100.0;
            write!(f, " ({busy:.0} % of the time in choices)")?;
        }
        let mut wins: Vec<_> = self.wins.iter().collect();
        wins.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), *name));
        if !wins.is_empty() {
            let won = wins.iter().take(SHOWN).map(|(name, n)| format!("{n} {name}"));
            write!(f, "\nwins: {}", won.collect::<Vec<_>>().join(", "))?;
            if wins.len() > SHOWN {
                write!(f, ", and {}", count((wins.len() - SHOWN) as u64, "more choice"))?;
            }
        }
        self.write_untimed(f)?;
        if self.interrupted {
            write!(f, "\ninterrupted after the current input; run the same command to continue")?;
        }
        Ok(())
    }
}

fn without_numbers(text: &str) -> String {
    let mut is_number = false;
    let mut is_text = |c: &char| {
        is_number = c.is_ascii_digit() || is_number && matches!(c, '.' | 'e' | '-' | '+');
        !is_number
    };
    text.chars().filter(|c| is_text(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_without_any_time_is_skipped() {
        let outcomes = vec![Err(Failure::skipped("not here")); 2];
        let measurement = Measurement { outcomes, ..Measurement::default() };
        let mut summary = Summary::new(1);
        summary.count(&["a", "b"].map(str::to_owned), &Ok(measurement));
        assert_eq!(summary.measured, 0);
        assert!(summary.to_string().contains("skipped 1 input: no choice is offered"), "{summary}");
    }

    #[test]
    fn the_last_lines_of_a_run() {
        let choices: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let mut summary = Summary::new(2);
        for size in ["91000", "9.5e4", "94001"] {
            let failure = Failure::skipped(format!("out of memory: {size} elements do not fit"));
            (0..2).for_each(|_| summary.count(&choices, &Err(failure.clone())));
        }
        for fast in [0.5, 1.5, 2.0] {
            let outcomes = vec![
                Ok(vec![1.0]),
                Ok(vec![fast]),
                Err(Failure::failed("wrong result")),
                Err(Failure::skipped("the processor lacks avx512f")),
                Err(Failure::skipped("the processor lacks avx512f")),
            ];
            let measurement =
                Measurement { outcomes, measuring: Duration::from_secs(1), ..Measurement::default() };
            summary.count(&choices, &Ok(measurement));
        }
        (summary.interrupted, summary.elapsed) = (true, Duration::from_secs(2));
        insta::assert_snapshot!(summary);
    }
}
