//! Measures one input: checks and warms up every choice, then lets them take turns until each median is
//! known.

use std::time::{Duration, Instant};

use ah_types::{ChoiceId, Context, Outcome, TimingPolicy};

use crate::bench::{Bench, Burst, Times};
use crate::eligibility::EligibleChoices;
use crate::failure::Failure;
use crate::race::Race;
use crate::runner::Runner;
use crate::sampling::Rng;

/// The most runs in one sample. For a shorter kernel, the choice does not matter.
const MAX_RUNS: u32 = 10_000;

/// A first run that takes this many budgets is the only sample: a second run of a kernel of 10 s adds no
/// information. One budget would be too few, because a busy host interrupts a run for that long.
const BUDGETS_OF_A_SINGLE_RUN: f64 = 4.0;

/// The result of measuring one input.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// By choice. A measured outcome holds all samples in the order in which they were taken.
    pub outcomes: Vec<Outcome>,
    /// The time spent running choices: warm-up, samples, emptying caches.
    pub measuring: Duration,
    /// The milliseconds of all runs that were timed, warm-up included.
    pub kernel_ms: f64,
    /// The reason why the device was lost during the measurement. The outcomes are valid; nothing more can
    /// be measured.
    pub lost: Option<String>,
}

impl Measurement {
    /// Returns the measured choice with the least median, and that median in milliseconds.
    pub fn winner(&self) -> Option<(ChoiceId, f64)> {
        let medians = (0..).map(ChoiceId).zip(&self.outcomes).filter_map(|(id, outcome)| match outcome {
            Outcome::Measured { .. } => Some((id, outcome.median()?)),
            _ => None,
        });
        medians.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Measures every choice of `runner` that is eligible on one input, under `policy`. Random operands come from `rng`.
///
/// # Errors
/// The input itself could not be made.
pub fn measure(
    runner: &mut dyn Runner,
    context: &Context,
    rng: Rng,
    policy: &TimingPolicy,
) -> Result<Measurement, Failure> {
    measure_some(runner, context, rng, policy, |_| true)
}

/// [`measure`] for the choices where `wanted` is true. The others are skipped; if no wanted choice has a time, they are
/// measured too.
///
/// # Errors
/// As [`measure`].
pub fn measure_some(
    runner: &mut dyn Runner,
    context: &Context,
    rng: Rng,
    policy: &TimingPolicy,
    wanted: impl Fn(usize) -> bool,
) -> Result<Measurement, Failure> {
    runner.load(context, rng)?;
    let choices = runner.subject().choices.len();
    let mut bench = EligibleChoices::new(runner, context)?;
    bench.leave_out((0..choices).filter(|choice| !wanted(*choice)));
    let mut measurement = measure_choices(&mut bench, choices, policy);
    let in_vain = measurement.winner().is_none() && measurement.lost.is_none();
    if in_vain && bench.offer_left_out(&measurement.outcomes) {
        let Measurement { measuring, kernel_ms, .. } = measurement;
        measurement = measure_choices(&mut bench, choices, policy);
        measurement.measuring += measuring;
        measurement.kernel_ms += kernel_ms;
    }
    runner.unload();
    Ok(measurement)
}

/// Measures the first `choices` choices of `bench` under `policy`.
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
        kernel_ms: 0.0,
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
    kernel_ms: f64,
    lost: Option<String>,
}

impl Contest<'_> {
    /// Checks the result of a choice, warms it up and finds how many runs fill a sample.
    fn admit<B: Bench + ?Sized>(&mut self, bench: &mut B, choice: ChoiceId) {
        let start = Instant::now();
        let checked = self.guarded(|| bench.check(choice));
        let check_ms = start.elapsed().as_secs_f64() * 1e3;
        if let Err(failure) = checked.and_then(|()| self.warm_up(bench, choice, check_ms)) {
            self.withdraw(choice, failure);
        }
    }

    fn warm_up<B: Bench + ?Sized>(
        &mut self,
        bench: &mut B,
        choice: ChoiceId,
        check_ms: f64,
    ) -> Result<(), Failure> {
        let Some(more) = self.policy.warmup_runs.checked_sub(1) else { return Ok(()) };
        let first = Burst { samples: 1, runs: 1, cold: self.policy.cold };
        let before = self.measuring;
        let mut fastest = self.timed(bench, choice, first)?[0];
        // A check that took no time ran nothing, so this run may include a lazy start.
        let is_slow = fastest.min(2.0 * check_ms) >= BUDGETS_OF_A_SINGLE_RUN * self.policy.budget_ms;
        if is_slow {
            let spent = (self.measuring - before).as_secs_f64() * 1e3;
            self.race.record(choice.index(), fastest, spent.max(fastest));
            return Ok(());
        }
        if more > 0 {
            let burst = Burst { samples: more, runs: 1, cold: false };
            fastest = self.timed(bench, choice, burst)?.into_iter().fold(fastest, f64::min);
        }
        if !self.policy.cold {
            self.runs[choice.index()] = runs_a_sample(self.policy.min_sample_ms, fastest);
        }
        self.bursts[choice.index()] = within(self.policy.budget_ms, fastest, self.policy.burst);
        Ok(())
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

    /// Runs a burst. A sample that is not a positive, finite time is a failure.
    fn timed<B: Bench + ?Sized>(
        &mut self,
        bench: &mut B,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Times, Failure> {
        let start = Instant::now();
        let times = self.guarded(|| bench.run(choice, burst));
        self.measuring += start.elapsed();
        let times = times?;
        if times.is_empty() {
            return Err(Failure::failed("the runner took no sample"));
        }
        match times.iter().find(|ms| !(ms.is_finite() && **ms > 0.0)) {
            Some(bad) => Err(Failure::failed(format!("a sample took {bad} ms"))),
            None => {
                self.kernel_ms += times.iter().sum::<f64>() * f64::from(burst.runs);
                Ok(times)
            }
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
        Measurement {
            outcomes: outcomes.collect(),
            measuring: self.measuring,
            kernel_ms: self.kernel_ms,
            lost: self.lost,
        }
    }
}

/// Returns the number of samples in a row that the budget holds, at least one.
fn within(budget_ms: f64, run_ms: f64, burst: u32) -> u32 {
    (budget_ms / run_ms).clamp(1.0, f64::from(burst.max(1))) as u32
}

/// Returns the number of runs that fill a sample.
fn runs_a_sample(min_sample_ms: f64, run_ms: f64) -> u32 {
    (min_sample_ms / run_ms).ceil().clamp(1.0, f64::from(MAX_RUNS)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels with invented times; counts their runs.
    struct Clock {
        ms: Vec<f64>,
        runs: Vec<u32>,
        checks_run: bool,
    }

    impl Bench for Clock {
        fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
            if self.checks_run {
                self.runs[choice.index()] += 1;
                std::thread::sleep(Duration::from_secs_f64(self.ms[choice.index()] / 1e3));
            }
            Ok(())
        }

        fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
            self.runs[choice.index()] += burst.samples * burst.runs;
            Ok(vec![self.ms[choice.index()]; burst.samples as usize])
        }
    }

    #[test]
    fn a_kernel_of_many_budgets_is_run_twice() {
        let policy = TimingPolicy { warmup_runs: 3, budget_ms: 5.0, ..TimingPolicy::default() };
        let mut clock = Clock { ms: vec![20.0, 0.01], runs: vec![0, 0], checks_run: true };
        let measurement = measure_choices(&mut clock, 2, &policy);
        assert_eq!(clock.runs[0], 2, "one run to check it, one that is its sample");
        assert!(clock.runs[1] > 6, "{:?}", clock.runs);
        assert_eq!(measurement.outcomes[0], Outcome::Measured { feedback: vec![20.0] });
        assert_eq!(measurement.winner(), Some((ChoiceId(1), 0.01)));
        // If the check runs nothing, the first run may be a slow start and is not a sample.
        let mut clock = Clock { ms: vec![20.0, 0.01], runs: vec![0, 0], checks_run: false };
        let _ = measure_choices(&mut clock, 2, &policy);
        assert!(clock.runs[0] > 3, "{:?}", clock.runs);
    }

    #[test]
    fn a_burst_ends_where_the_budget_does() {
        assert_eq!([0.01, 30.0, 40.0, 60.0, 900.0].map(|ms| within(100.0, ms, 3)), [3, 3, 2, 1, 1]);
        assert_eq!(within(100.0, 0.01, 0), 1);
    }
}
