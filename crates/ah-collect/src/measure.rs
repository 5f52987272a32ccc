//! One input: check every choice, warm up, then take turns until each is known well enough.

use std::time::{Duration, Instant};

use ah_types::timing::{Race, TimingPolicy};
use ah_types::{ChoiceId, Context, Outcome};

use crate::runner::{Burst, Failure, Runner};

/// Most runs in one sample: a kernel so short that more are needed is not worth choosing.
const MAX_RUNS: u32 = 10_000;

/// What measuring one input gave.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// By choice. A measured one holds all its samples, in the order in which they were taken.
    pub outcomes: Vec<Outcome>,
    /// The time spent running choices: warm-up, samples, emptying caches.
    pub measuring: Duration,
    /// The device was lost on the way: the outcomes hold, and nothing more can be measured.
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

/// Measures every choice on one input under `policy`; random operands come from `seed`.
///
/// # Errors
/// The input itself could not be made.
pub fn measure(
    runner: &mut dyn Runner,
    context: &Context,
    seed: u64,
    policy: &TimingPolicy,
) -> Result<Measurement, Failure> {
    runner.load(context, seed)?;
    let choices = u32::try_from(runner.choices().len()).unwrap_or(u32::MAX);
    let mut contest = Contest {
        race: Race::new(*policy, choices as usize),
        policy,
        failures: vec![None; choices as usize],
        runs: vec![1; choices as usize],
        bursts: vec![policy.burst.max(1); choices as usize],
        measuring: Duration::ZERO,
        lost: None,
    };
    for choice in (0..choices).map(ChoiceId) {
        contest.admit(runner, choice);
    }
    while let Some(choice) = contest.race.next() {
        contest.sample(runner, ChoiceId(u32::try_from(choice).unwrap_or(u32::MAX)));
    }
    runner.unload();
    Ok(contest.finish())
}

struct Contest<'p> {
    race: Race,
    policy: &'p TimingPolicy,
    failures: Vec<Option<Failure>>,
    /// Runs that make one sample, by choice.
    runs: Vec<u32>,
    /// Samples that are taken in a row, by choice.
    bursts: Vec<u32>,
    measuring: Duration,
    lost: Option<String>,
}

impl Contest<'_> {
    /// Checks the result of a choice, warms it up and finds how many runs make a sample.
    fn admit(&mut self, runner: &mut dyn Runner, choice: ChoiceId) {
        if let Err(failure) = self.guarded(|| runner.check(choice)) {
            return self.withdraw(choice, failure);
        }
        if self.policy.warmup_runs == 0 {
            return;
        }
        let burst = Burst { samples: self.policy.warmup_runs, runs: 1, cold: false };
        match self.timed(runner, choice, burst) {
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

    fn sample(&mut self, runner: &mut dyn Runner, choice: ChoiceId) {
        let left = self.policy.max_samples as usize - self.race.samples(choice.index()).len();
        let samples = self.bursts[choice.index()].min(u32::try_from(left).unwrap_or(u32::MAX));
        let burst = Burst { samples, runs: self.runs[choice.index()], cold: self.policy.cold };
        let before = self.measuring;
        match self.timed(runner, choice, burst) {
            Ok(times) => {
                let spent = (self.measuring - before).as_secs_f64() * 1e3 / f64::from(samples);
                for ms in times {
                    self.race.record(choice.index(), ms, spent);
                }
            }
            Err(failure) => self.withdraw(choice, failure),
        }
    }

    /// Runs a burst and sees to it that each sample is a time.
    fn timed(
        &mut self,
        runner: &mut dyn Runner,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Vec<f64>, Failure> {
        let start = Instant::now();
        let times = self.guarded(|| runner.run(choice, burst));
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

    /// Nothing is asked of a lost device.
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

/// As many samples in a row as the budget holds, at least one.
fn within(budget_ms: f64, run_ms: f64, burst: u32) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Clamped first.
    let samples = (budget_ms / run_ms).clamp(1.0, f64::from(burst.max(1))) as u32;
    samples
}

/// As many runs as fill a sample.
fn runs_a_sample(min_sample_ms: f64, run_ms: f64) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Clamped first.
    let runs = (min_sample_ms / run_ms).ceil().clamp(1.0, f64::from(MAX_RUNS)) as u32;
    runs
}
