//! The numbers of a run, for its last lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use ah_measure::{Failure, Measurement};
use ah_types::Outcome;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::units::{count, duration};

/// The summary of a run.
#[derive(Clone, Debug, Default)]
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
    start: Option<Instant>,
    /// Wall time.
    pub elapsed: Duration,
    /// The time spent running choices, summed over the workers.
    pub measuring: Duration,
    /// The milliseconds of the timed runs.
    pub kernel_ms: f64,
    /// The workers that measured at once.
    pub workers: usize,
    /// Ended by a signal.
    pub interrupted: bool,
}

/// The most winners, and the most reasons, to show.
const SHOWN: usize = 12;

/// The reason why an input is skipped if each of its choices is.
pub(crate) const NO_CHOICE: &str = "no choice is offered";

impl Summary {
    /// Starts the summary of a run on a log with `resumed` inputs.
    pub(crate) fn new(resumed: u64, workers: usize) -> Self {
        Self { resumed, workers, start: Some(Instant::now()), ..Self::default() }
    }

    /// Ends the summary.
    pub(crate) fn finish(&mut self, interrupted: bool) {
        self.elapsed = self.start.map_or(self.elapsed, |start| start.elapsed());
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
        if measurement.outcomes.iter().all(|outcome| matches!(outcome, Some(Outcome::Skipped { .. }))) {
            *self.skipped_inputs.entry(NO_CHOICE.to_owned()).or_default() += 1;
        } else {
            self.measured += 1;
        }
        self.measuring += measurement.measuring;
        self.kernel_ms += measurement.kernel_ms;
        for (choice, outcome) in choices.iter().zip(&measurement.outcomes) {
            let (counts, reason) = match outcome {
                Some(Outcome::Measured { .. }) | None => continue,
                Some(Outcome::Skipped { reason }) => (&mut self.skipped, reason),
                Some(Outcome::Failed { reason }) => (&mut self.failed, reason),
            };
            *counts.entry((choice.clone(), reason.clone())).or_default() += 1;
        }
        if let Some((winner, _)) = measurement.winner() {
            *self.wins.entry(choices[winner.index()].clone()).or_default() += 1;
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measured, resumed, elapsed, .. } = self;
        write!(f, "measured {} in {}", count(*measured, "input"), duration(*elapsed))?;
        if *measured > 0 {
            let seconds = elapsed.as_secs_f64().max(1e-9);
            let busy = self.measuring.as_secs_f64() / (seconds * self.workers.max(1) as f64) * 100.0;
            write!(f, " ({}, {busy:.0} % of the time in choices)", rate(*measured as f64 / seconds))?;
        }
        if *resumed > 0 {
            write!(f, "; the log held {resumed} before")?;
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
        by_kind(
            f,
            "skipped",
            &kinds(self.skipped_inputs.iter().map(|(reason, n)| ("", reason.as_str(), *n))),
        )?;
        for (what, counts) in [("skipped", &self.skipped), ("failed", &self.failed)] {
            let counts = counts.iter().map(|((choice, reason), n)| (choice.as_str(), reason.as_str(), *n));
            by_kind(f, what, &kinds(counts))?;
        }
        if self.interrupted {
            write!(f, "\ninterrupted after the current input; run the same command to continue")?;
        }
        Ok(())
    }
}

/// Reasons that differ only in their numbers.
#[derive(Default)]
struct Kind<'a> {
    reasons: BTreeSet<&'a str>,
    choices: BTreeSet<&'a str>,
    times: u64,
}

/// Returns reasons by kind. An empty choice stands for a whole input.
fn kinds<'a>(counts: impl Iterator<Item = (&'a str, &'a str, u64)>) -> Vec<Kind<'a>> {
    let mut kinds: BTreeMap<String, Kind<'_>> = BTreeMap::new();
    for (choice, reason, times) in counts {
        let kind = kinds.entry(without_numbers(reason)).or_default();
        kind.reasons.insert(reason);
        kind.choices.insert(choice);
        kind.times += times;
    }
    kinds.into_values().collect()
}

fn without_numbers(text: &str) -> String {
    let mut is_number = false;
    let mut is_text = |c: &char| {
        is_number = c.is_ascii_digit() || is_number && matches!(c, '.' | 'e' | '-' | '+');
        !is_number
    };
    text.chars().filter(|c| is_text(c)).collect()
}

/// Writes one line for each kind of reason.
fn by_kind(f: &mut fmt::Formatter<'_>, what: &str, kinds: &[Kind<'_>]) -> fmt::Result {
    for Kind { reasons, choices, times } in kinds.iter().take(SHOWN) {
        let (reason, alike) = (reasons.first().unwrap_or(&""), reasons.len() - 1);
        let names: Vec<&str> = choices.iter().filter(|name| !name.is_empty()).take(3).copied().collect();
        match (choices.len(), names.is_empty()) {
            (_, true) => write!(f, "\n{what} {}: {reason}", count(*times, "input"))?,
            (0..=3, _) => write!(f, "\n{what} {} ({}): {reason}", count(*times, "time"), names.join(", "))?,
            (all, _) => {
                let (names, more) = (names.join(", "), all - 3);
                write!(f, "\n{what} {} ({names} and {more} more): {reason}", count(*times, "time"))?;
            }
        }
        if alike > 0 {
            write!(f, " (and {} like it)", count(alike as u64, "reason"))?;
        }
    }
    if kinds.len() > SHOWN {
        let more = count((kinds.len() - SHOWN) as u64, "more reason");
        write!(f, "\n{what} for {more}: see the outcomes file")?;
    }
    Ok(())
}

/// Returns a rate in a unit in which it is not below 1.
fn rate(inputs_per_second: f64) -> String {
    match inputs_per_second {
        r if r >= 1.0 => format!("{r:.1} inputs/s"),
        r if r >= 1.0 / 60.0 => format!("{:.1} inputs/min", r * 60.0),
        r => format!("{:.1} inputs/h", r * 3600.0),
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let by_choice = |counts: &BTreeMap<(String, String), u64>| -> Vec<_> {
            let entry = |((choice, reason), n): (&(String, String), &u64)| json!({ "choice": choice, "reason": reason, "inputs": n });
            counts.iter().map(entry).collect()
        };
        json!({
            "measured": self.measured,
            "resumed": self.resumed,
            "seconds": self.elapsed.as_secs_f64(),
            "seconds_in_choices": self.measuring.as_secs_f64(),
            "kernel_ms": self.kernel_ms,
            "workers": self.workers,
            "interrupted": self.interrupted,
            "wins": self.wins,
            "skipped_inputs": self.skipped_inputs,
            "skipped": by_choice(&self.skipped),
            "failed": by_choice(&self.failed),
        })
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_without_any_time_is_skipped() {
        let outcomes = vec![Some(Outcome::skipped("not here")); 2];
        let measurement = Measurement { outcomes, measuring: Duration::ZERO, kernel_ms: 0.0, lost: None };
        let mut summary = Summary::new(0, 1);
        summary.count(&["a", "b"].map(str::to_owned), &Ok(measurement));
        assert_eq!((summary.measured, summary.skipped_inputs.get(NO_CHOICE)), (0, Some(&1)));
    }

    #[test]
    fn the_last_lines_of_a_run() {
        let choices: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let mut summary = Summary::new(7, 2);
        for size in ["91000", "9.5e4", "94001"] {
            summary.skipped_inputs.insert(format!("out of memory: {size} elements do not fit"), 2);
        }
        for fast in [0.5, 1.5, 2.0] {
            let measured = |ms: f64| Outcome::Measured { feedback: vec![ms] };
            let outcomes = vec![
                measured(1.0),
                measured(fast),
                Outcome::failed("wrong result"),
                Outcome::skipped("the processor lacks avx512f"),
                Outcome::skipped("the processor lacks avx512f"),
            ];
            let outcomes = outcomes.into_iter().map(Some).collect();
            let measurement =
                Measurement { outcomes, measuring: Duration::from_secs(1), kernel_ms: 4.5, lost: None };
            summary.count(&choices, &Ok(measurement));
        }
        summary.finish(true);
        summary.elapsed = Duration::from_secs(2);
        insta::assert_snapshot!(summary);
        insta::assert_snapshot!("json", serde_json::to_string_pretty(&summary).unwrap());
    }
}
