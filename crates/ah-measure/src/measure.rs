//! One input: every choice is checked and warmed up, then all take turns until each median is known.

use std::time::{Duration, Instant};

use ah_types::{ChoiceId, Context, Outcome, TimingPolicy};

use crate::failure::Failure;
use crate::race::Race;
use crate::runner::Runner;
use crate::sampling::Rng;

/// The most runs in one sample. A kernel that needs more is too short to be worth a choice.
const MAX_RUNS: u32 = 10_000;

/// The samples of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Burst {
    /// Samples to take, one after the other.
    pub samples: u32,
    /// Runs in one sample; the sample is their mean.
    pub runs: u32,
    /// Whether the caches are emptied before each sample; that time does not count.
    pub cold: bool,
}

/// The choices of one input, ready to be checked and timed.
pub trait Bench {
    /// Runs `choice` once and compares its result with a reference.
    ///
    /// # Errors
    /// [`Failure::Skipped`] where the choice is not offered, [`Failure::Failed`] where it fails or
    /// its result is wrong, with the error.
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure>;

    /// Times `choice`. Returns one number a sample, in milliseconds a run.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Vec<f64>, Failure>;
}

/// The result of measuring one input.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// By choice. A measured outcome holds all samples in the order in which they were taken.
    pub outcomes: Vec<Outcome>,
    /// The time spent running choices: warm-up, samples, emptying caches.
    pub measuring: Duration,
    /// The reason why the device was lost on the way. The outcomes hold; nothing more can be measured.
    pub lost: Option<String>,
}

impl Measurement {
    /// The measured choice with the least median, and that median in milliseconds.
    #[must_use]
    pub fn winner(&self) -> Option<(ChoiceId, f64)> {
        let medians = (0..).map(ChoiceId).zip(&self.outcomes).filter_map(|(id, outcome)| match outcome {
            Outcome::Measured { .. } => Some((id, outcome.median()?)),
            _ => None,
        });
        medians.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Measures every choice of `runner` on one input under `policy`. Random operands come from `rng`.
///
/// # Errors
/// The input itself could not be made.
pub fn measure(
    runner: &mut dyn Runner,
    context: &Context,
    rng: Rng,
    policy: &TimingPolicy,
) -> Result<Measurement, Failure> {
    runner.load(context, rng)?;
    let choices = runner.subject().choices.len();
    let measurement = measure_choices(runner, choices, policy);
    runner.unload();
    Ok(measurement)
}

/// Measures the first `choices` choices of `bench` under `policy`.
#[must_use]
pub fn measure_choices<B: Bench + ?Sized>(
    bench: &mut B,
    choices: usize,
    policy: &TimingPolicy,
) -> Measurement {
    let mut contest = Contest {
        race: Race::new(*policy, choices),
        policy,
        failures: vec![None; choices],
        runs: vec![1; choices],
        bursts: vec![policy.burst.max(1); choices],
        measuring: Duration::ZERO,
        lost: None,
    };
    for choice in (0..choices).map(choice_id) {
        contest.admit(bench, choice);
    }
    while let Some(choice) = contest.race.next() {
        contest.sample(bench, choice_id(choice));
    }
    contest.finish()
}

fn choice_id(index: usize) -> ChoiceId {
    ChoiceId(u32::try_from(index).unwrap_or(u32::MAX))
}

struct Contest<'p> {
    race: Race,
    policy: &'p TimingPolicy,
    failures: Vec<Option<Failure>>,
    /// Runs in one sample, by choice.
    runs: Vec<u32>,
    /// Samples taken in a row, by choice.
    bursts: Vec<u32>,
    measuring: Duration,
    lost: Option<String>,
}

impl Contest<'_> {
    /// Checks the result of a choice, warms it up and finds how many runs fill a sample.
    fn admit<B: Bench + ?Sized>(&mut self, bench: &mut B, choice: ChoiceId) {
        if let Err(failure) = self.guarded(|| bench.check(choice)) {
            return self.withdraw(choice, failure);
        }
        if self.policy.warmup_runs == 0 {
            return;
        }
        let burst = Burst { samples: self.policy.warmup_runs, runs: 1, cold: false };
        match self.timed(bench, choice, burst) {
            Ok(times) => {
                let fastest = times.into_iter().fold(f64::INFINITY, f64::min);
                if !self.policy.cold {
                    self.runs[choice.index()] = runs_a_sample(self.policy.min_sample_ms, fastest);
                }
                self.bursts[choice.index()] = within(self.policy.budget_ms, fastest, self.policy.burst);
            }
            Err(failure) => self.withdraw(choice, failure),
        }
    }

    fn sample<B: Bench + ?Sized>(&mut self, bench: &mut B, choice: ChoiceId) {
        let left = self.policy.max_samples as usize - self.race.samples(choice.index()).len();
        let samples = self.bursts[choice.index()].min(u32::try_from(left).unwrap_or(u32::MAX));
        let burst = Burst { samples, runs: self.runs[choice.index()], cold: self.policy.cold };
        let before = self.measuring;
        match self.timed(bench, choice, burst) {
            Ok(times) => {
                let spent = (self.measuring - before).as_secs_f64() * 1e3 / f64::from(samples);
                for ms in times {
                    self.race.record(choice.index(), ms, spent);
                }
            }
            Err(failure) => self.withdraw(choice, failure),
        }
    }

    /// Runs a burst. A sample that is no time is a failure.
    fn timed<B: Bench + ?Sized>(
        &mut self,
        bench: &mut B,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Vec<f64>, Failure> {
        let start = Instant::now();
        let times = self.guarded(|| bench.run(choice, burst));
        self.measuring += start.elapsed();
        let times = times?;
        if times.is_empty() {
            return Err(Failure::failed("the runner took no sample"));
        }
        match times.iter().find(|ms| !(ms.is_finite() && **ms > 0.0)) {
            Some(bad) => Err(Failure::failed(format!("a sample took {bad} ms"))),
            None => Ok(times),
        }
    }

    /// Calls `run` unless the device is lost.
    fn guarded<T>(&self, run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        match &self.lost {
            Some(reason) => Err(Failure::skipped(format!("the device was lost before: {reason}"))),
            None => run(),
        }
    }

    fn withdraw(&mut self, choice: ChoiceId, failure: Failure) {
        if let Failure::DeviceLost(reason) = &failure {
            self.lost = Some(reason.clone());
        }
        self.race.withdraw(choice.index());
        self.failures[choice.index()] = Some(failure);
    }

    fn finish(self) -> Measurement {
        let outcomes = self.failures.into_iter().enumerate().map(|(choice, failure)| match failure {
            None => Outcome::Measured { feedback: self.race.samples(choice).to_vec() },
            Some(Failure::Skipped(reason)) => Outcome::Skipped { reason },
            Some(Failure::Failed(reason) | Failure::DeviceLost(reason)) => Outcome::Failed { reason },
        });
        Measurement { outcomes: outcomes.collect(), measuring: self.measuring, lost: self.lost }
    }
}

/// The number of samples in a row that the budget holds, at least one.
fn within(budget_ms: f64, run_ms: f64, burst: u32) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Clamped first.
    let samples = (budget_ms / run_ms).clamp(1.0, f64::from(burst.max(1))) as u32;
    samples
}

/// The number of runs that fill a sample.
fn runs_a_sample(min_sample_ms: f64, run_ms: f64) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Clamped first.
    let runs = (min_sample_ms / run_ms).ceil().clamp(1.0, f64::from(MAX_RUNS)) as u32;
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_ends_where_the_budget_does() {
        assert_eq!([0.01, 30.0, 40.0, 60.0, 900.0].map(|ms| within(100.0, ms, 3)), [3, 3, 2, 1, 1]);
        assert_eq!(within(100.0, 0.01, 0), 1);
    }
}
