//! Measures one input: checks and warms up every choice, then lets them take turns until each median is
//! known.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ah_model::ChoiceId;
use ah_types::{Failure, Outcome, TimingPolicy, median};

use crate::bench::{Bench, Burst, Cell, Times};
use crate::race::Race;
use crate::sampling::Seed;

/// The most runs in one sample. For a shorter kernel, the choice does not matter.
const MAX_RUNS: u32 = 10_000;

/// A first run that takes this many budgets is the only sample: a second run of a kernel of 10 s adds no
/// information. One budget would be too few, because a busy host interrupts a run for that long.
const BUDGETS_OF_A_SINGLE_RUN: f64 = 4.0;

/// The result of measuring one input.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// By choice.
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
    /// Whether a log has rows of it: the times of a choice, or its failure.
    pub fn leaves_rows(&self) -> bool {
        self.outcomes.iter().any(|outcome| matches!(outcome, Ok(_) | Err(Failure::Failed(_))))
    }

    /// Whether no choice is offered on this input.
    pub fn is_skipped(&self) -> bool {
        self.outcomes.iter().all(|outcome| matches!(outcome, Err(Failure::Skipped(_))))
    }

    /// The measured choice with the least median, and that median in milliseconds.
    pub fn winner(&self) -> Option<(ChoiceId, f64)> {
        let median = |(id, outcome): (_, &Outcome)| Some((id, median(outcome.as_ref().ok()?)?));
        let medians = (0..).map(ChoiceId).zip(&self.outcomes).filter_map(median);
        medians.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Measures the first `choices` choices of `bench` under `policy`. `seed` shuffles their turns.
pub fn measure_choices<B: Bench + ?Sized>(
    bench: &mut B,
    choices: usize,
    policy: &TimingPolicy,
    seed: Seed,
) -> Measurement {
    let race = Race::new(policy, choices, seed);
    let batch = bench.batch().max(1);
    let mut run = InputRun { bench, race, result: Measurement::default() };
    let all: Vec<ChoiceId> = (0..).map(ChoiceId).take(choices).collect();
    all.chunks(batch).for_each(|some| run.admit(some));
    while run.result.lost.is_none() {
        let turn = run.race.turn(batch);
        if turn.is_empty() {
            break;
        }
        run.sample(&turn);
    }
    run.finish()
}

/// The samples of one choice in one turn.
struct Timed {
    choice: ChoiceId,
    times: Times,
    /// The milliseconds that passed, its share of the turn.
    spent_ms: f64,
}

struct InputRun<'p, B: ?Sized> {
    bench: &'p mut B,
    race: Race<'p>,
    /// Without outcomes until the end.
    result: Measurement,
}

impl<B: Bench + ?Sized> InputRun<'_, B> {
    /// Checks the results of some choices, warms them up and finds how many runs of each fill a sample.
    fn admit(&mut self, choices: &[ChoiceId]) {
        if self.result.lost.is_some() {
            return;
        }
        let start = Instant::now();
        let checked = self.bench.check(choices);
        let elapsed = start.elapsed().saturating_sub(self.bench.interruption());
        let check_ms = elapsed.as_secs_f64() * 1e3 / choices.len().max(1) as f64;
        let mut right = Vec::new();
        for (choice, result) in choices.iter().zip(checked) {
            match result {
                Ok(()) => right.push(*choice),
                Err(failure) => self.withdraw(*choice, failure),
            }
        }
        self.warm_up(&right, check_ms);
    }

    fn warm_up(&mut self, choices: &[ChoiceId], check_ms: f64) {
        let Some(more) = self.race.policy.warmup_runs.checked_sub(1) else { return };
        let first = Burst { samples: 1, runs: 1, cold: self.race.policy.cold };
        let mut fastest: BTreeMap<ChoiceId, f64> = BTreeMap::new();
        let cells = choices.iter().map(|choice| Cell { choice: *choice, burst: first });
        for Timed { choice, times, spent_ms } in self.time(cells.collect()) {
            // A check that took no time ran nothing, so this run may include a lazy start.
            if times[0].min(2.0 * check_ms) >= BUDGETS_OF_A_SINGLE_RUN * self.race.policy.budget_ms {
                self.race.record(choice, times[0], spent_ms.max(times[0]));
            } else {
                fastest.insert(choice, times[0]);
            }
        }
        if more > 0 {
            let burst = Burst { samples: more, runs: 1, cold: false };
            let timed = self.time(fastest.keys().map(|choice| Cell { choice: *choice, burst }).collect());
            let least =
                |Timed { choice, times, .. }| (choice, times.into_iter().fold(fastest[&choice], f64::min));
            fastest = timed.into_iter().map(least).collect();
        }
        for (choice, ms) in fastest {
            let lane = &mut self.race.lanes[choice.index()];
            if !self.race.policy.cold {
                // As many as fill a sample.
                let runs = (self.race.policy.min_sample_ms / ms).ceil();
                lane.runs = runs.clamp(1.0, f64::from(MAX_RUNS)) as u32;
            }
            lane.burst = within(self.race.policy.budget_ms, ms, self.race.policy.burst);
        }
    }

    /// Takes the samples of one turn.
    fn sample(&mut self, turn: &[ChoiceId]) {
        let cell = |&choice: &ChoiceId| {
            let lane = &self.race.lanes[choice.index()];
            let left = self.race.policy.max_samples as usize - lane.samples.len();
            let samples = lane.burst.min(u32::try_from(left).unwrap_or(u32::MAX));
            Cell { choice, burst: Burst { samples, runs: lane.runs, cold: self.race.policy.cold } }
        };
        for Timed { choice, times, spent_ms } in self.time(turn.iter().map(cell).collect()) {
            let spent = spent_ms / times.len() as f64;
            for ms in times {
                self.race.record(choice, ms, spent);
            }
        }
    }

    /// Runs the bursts, and withdraws the choices that give no times. A sample that is not a positive, finite time is a
    /// failure.
    fn time(&mut self, cells: Vec<Cell>) -> Vec<Timed> {
        if cells.is_empty() || self.result.lost.is_some() {
            return Vec::new();
        }
        let start = Instant::now();
        let results = self.bench.time(&cells);
        // The replacement of a process is no work of the choices: it must not use their budgets up.
        let elapsed = start.elapsed().saturating_sub(self.bench.interruption());
        self.result.measuring += elapsed;
        let mut timed = Vec::new();
        for (Cell { choice, burst }, result) in cells.into_iter().zip(results) {
            match result.and_then(are_times) {
                Ok(times) => {
                    let run_ms = times.iter().sum::<f64>() * f64::from(burst.runs);
                    self.result.kernel_ms += run_ms;
                    timed.push(Timed { choice, times, spent_ms: run_ms });
                }
                Err(failure) => self.withdraw(choice, failure),
            }
        }
        // The time that passed is divided as the runs are.
        let all_ms: f64 = timed.iter().map(|timed| timed.spent_ms).sum();
        timed.iter_mut().for_each(|timed| timed.spent_ms *= elapsed.as_secs_f64() * 1e3 / all_ms);
        timed
    }

    fn withdraw(&mut self, choice: ChoiceId, failure: Failure) {
        if let Failure::DeviceLost(reason) = &failure {
            self.result.lost = Some(reason.clone());
        }
        self.race.withdraw(choice, failure);
    }

    fn finish(self) -> Measurement {
        let lost = self.result.lost.as_deref().unwrap_or_default();
        let outcomes = self.race.lanes.into_iter().map(|lane| match lane.failure {
            Some(failure) => Err(failure),
            // The device was lost before it was done.
            None if lane.is_running => Err(Failure::DeviceLost(lost.to_owned())),
            None => Ok(lane.samples),
        });
        Measurement { outcomes: outcomes.collect(), ..self.result }
    }
}

/// Refuses empty samples and invalid times.
pub(crate) fn are_times(times: Times) -> Result<Times, Failure> {
    match times.iter().find(|ms| !(ms.is_finite() && **ms > 0.0)) {
        Some(bad) => Err(Failure::failed(format!("a sample took {bad} ms"))),
        None if times.is_empty() => Err(Failure::failed("the runner took no sample")),
        None => Ok(times),
    }
}

/// The number of samples in a row that the budget holds, at least one.
fn within(budget_ms: f64, run_ms: f64, burst: u32) -> u32 {
    (budget_ms / run_ms).clamp(1.0, f64::from(burst.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels with invented times; counts their runs.
    #[derive(Default)]
    struct Clock {
        ms: Vec<f64>,
        runs: Vec<u32>,
        checks_run: bool,
        calls: u32,
        /// The call of `time` that replaces the process, and the first that finds the device lost.
        replaced_at: Option<u32>,
        lost_at: Option<u32>,
        interruption: Duration,
    }

    impl Clock {
        fn new(ms: &[f64]) -> Self {
            Self { ms: ms.to_vec(), runs: vec![0; ms.len()], ..Self::default() }
        }
    }

    impl Bench for Clock {
        fn check(&mut self, choices: &[ChoiceId]) -> Vec<Result<(), Failure>> {
            for choice in choices.iter().filter(|_| self.checks_run) {
                self.runs[choice.index()] += 1;
                std::thread::sleep(Duration::from_secs_f64(self.ms[choice.index()] / 1e3));
            }
            vec![Ok(()); choices.len()]
        }

        fn time(&mut self, cells: &[Cell]) -> Vec<Result<Times, Failure>> {
            self.calls += 1;
            if self.replaced_at == Some(self.calls) {
                let start = Instant::now();
                std::thread::sleep(Duration::from_millis(500));
                self.interruption = start.elapsed();
            }
            let time = |cell: &Cell| {
                if self.lost_at.is_some_and(|lost| self.calls >= lost) {
                    return Err(Failure::DeviceLost("gone".to_owned()));
                }
                self.runs[cell.choice.index()] += cell.burst.samples * cell.burst.runs;
                Ok(vec![self.ms[cell.choice.index()]; cell.burst.samples as usize])
            };
            cells.iter().map(time).collect()
        }

        fn interruption(&mut self) -> Duration {
            std::mem::take(&mut self.interruption)
        }
    }

    fn measure(clock: &mut Clock, policy: &TimingPolicy) -> Measurement {
        let choices = clock.ms.len();
        measure_choices(clock, choices, policy, Seed(0, 0))
    }

    #[test]
    fn a_kernel_of_many_budgets_is_run_twice() {
        let policy = TimingPolicy { warmup_runs: 3, budget_ms: 5.0, ..TimingPolicy::default() };
        let mut clock = Clock { checks_run: true, ..Clock::new(&[20.0, 0.01]) };
        let measurement = measure(&mut clock, &policy);
        assert_eq!(clock.runs[0], 2, "one run to check it, one that is its sample");
        assert!(clock.runs[1] > 6, "{:?}", clock.runs);
        assert_eq!(measurement.outcomes[0], Ok(vec![20.0]));
        assert_eq!(measurement.winner(), Some((ChoiceId(1), 0.01)));
        // If the check runs nothing, the first run may be a slow start and is not a sample.
        let mut clock = Clock::new(&[20.0, 0.01]);
        let _ = measure(&mut clock, &policy);
        assert!(clock.runs[0] > 3, "{:?}", clock.runs);
    }

    #[test]
    fn the_replacement_of_a_process_costs_no_sample() {
        // A budget of 200 ms: a replacement of 500 ms would end each choice after its first sample.
        let policy = TimingPolicy { warmup_runs: 2, budget_ms: 200.0, ..TimingPolicy::default() };
        let mut clock = Clock { replaced_at: Some(5), ..Clock::new(&[0.01, 0.012]) };
        let measurement = measure(&mut clock, &policy);
        for outcome in measurement.outcomes {
            let feedback = outcome.unwrap();
            assert!(feedback.len() >= crate::interval::LEAST_SAMPLES, "{feedback:?}");
        }
        assert!(measurement.measuring < Duration::from_millis(500), "{:?}", measurement.measuring);
    }

    #[test]
    fn a_lost_device_is_the_fault_of_no_choice() {
        let mut clock = Clock { lost_at: Some(1), ..Clock::new(&[0.01, 0.02, 0.03]) };
        let measurement = measure(&mut clock, &TimingPolicy::default());
        assert_eq!(measurement.outcomes, vec![Err(Failure::DeviceLost("gone".to_owned())); 3]);
        assert_eq!(measurement.lost.as_deref(), Some("gone"));
    }

    #[test]
    fn a_burst_ends_where_the_budget_does() {
        assert_eq!([0.01, 30.0, 40.0, 60.0, 900.0].map(|ms| within(100.0, ms, 3)), [3, 3, 2, 1, 1]);
        assert_eq!(within(100.0, 0.01, 0), 1);
    }
}
