//! The choices of one input, timed in turns.

use ah_model::ChoiceId;
use ah_types::{Failure, TimingPolicy, median};
use rand::seq::SliceRandom as _;

use crate::interval;
use crate::sampling::{Rng, Seed};

/// A choice does not drop out before it has this many samples: an interrupt can hit a single one, which on
/// a busy host made a choice look ten times slower than it is.
const LEAST_BEFORE_EARLY_STOP: usize = 2;

/// The turns of the choices of one input: each has one in every round, so that a drift of the clock affects all of them.
/// The order changes in every round, so that no choice always follows the same one, whose heat and caches it would inherit.
///
/// A race needs no clock and no device. Its caller asks for the next [`turn`](Self::turn) and [`record`](Self::record)s each
/// sample.
#[derive(Debug)]
pub(crate) struct Race<'p> {
    pub(crate) policy: &'p TimingPolicy,
    pub(crate) lanes: Vec<Lane>,
    /// The order of this round.
    order: Vec<ChoiceId>,
    /// How many of `order` had their turn.
    turn: usize,
    shuffle: Rng,
}

/// A choice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    /// In milliseconds, in the order in which they were taken.
    pub(crate) samples: Vec<f64>,
    /// Why there are none.
    pub(crate) failure: Option<Failure>,
    /// Runs in one sample.
    pub(crate) runs: u32,
    /// Samples taken in a row.
    pub(crate) burst: u32,
    /// The median; infinite without samples.
    median: f64,
    spent_ms: f64,
    /// Whether it gets more samples.
    pub(crate) is_running: bool,
}

impl<'p> Race<'p> {
    /// A race of `choices` choices on the input of this seed.
    pub(crate) fn new(policy: &'p TimingPolicy, choices: usize, seed: Seed) -> Self {
        let burst = policy.burst.max(1);
        let lane = Lane { runs: 1, burst, median: f64::INFINITY, is_running: true, ..Lane::default() };
        let order = (0..).map(ChoiceId).take(choices).collect();
        // Not the stream that the input was drawn from.
        let shuffle = Seed(!seed.0, seed.1).rng();
        Self { policy, lanes: vec![lane; choices], order, turn: choices, shuffle }
    }

    /// The next choices of this round, or of a new one, at most `most`; none when all are done. A sample changes
    /// only its own choice, so the order of all samples does not depend on `most`.
    pub(crate) fn turn(&mut self, most: usize) -> Vec<ChoiceId> {
        let is_running = |choice: ChoiceId| self.lanes[choice.index()].is_running;
        if !self.order[self.turn..].iter().any(|choice| is_running(*choice)) {
            self.turn = 0;
            self.order.shuffle(&mut self.shuffle);
        }
        let mut turn = Vec::new();
        while turn.len() < most && self.turn < self.order.len() {
            let choice = self.order[self.turn];
            self.turn += 1;
            if is_running(choice) {
                turn.push(choice);
            }
        }
        turn
    }

    /// Records a sample of `choice`: `ms` milliseconds a run, taken in `spent_ms` milliseconds altogether. The choice is done
    /// when it has as many samples as the policy allows, is surely slower than another one, has spent its budget, or its
    /// median is known to the policy's target.
    pub(crate) fn record(&mut self, choice: ChoiceId, ms: f64, spent_ms: f64) {
        let lane = &mut self.lanes[choice.index()];
        lane.samples.push(ms);
        lane.median = median(&lane.samples).unwrap_or(f64::INFINITY);
        lane.spent_ms += spent_ms;
        let policy = self.policy;
        let best_slowest = self.slowest_of_best();
        let lane = &mut self.lanes[choice.index()];
        let n = lane.samples.len();
        let fastest = lane.samples.iter().copied().fold(f64::INFINITY, f64::min);
        let is_dominated = n >= LEAST_BEFORE_EARLY_STOP && fastest > best_slowest * policy.early_stop_ratio;
        let is_precise = n >= policy.min_samples as usize
            && interval::relative_error(&lane.samples).is_some_and(|e| e <= policy.target_relative_error);
        let is_full = n >= policy.max_samples.max(1) as usize;
        lane.is_running = !(is_full || is_dominated || is_precise || lane.spent_ms >= policy.budget_ms);
    }

    /// Withdraws `choice`; its samples do not count.
    pub(crate) fn withdraw(&mut self, choice: ChoiceId, failure: Failure) {
        let lane = &mut self.lanes[choice.index()];
        lane.samples.clear();
        (lane.median, lane.is_running, lane.failure) = (f64::INFINITY, false, Some(failure));
    }

    /// The slowest sample of the choice with the least median.
    fn slowest_of_best(&self) -> f64 {
        let best = self.lanes.iter().min_by(|a, b| a.median.total_cmp(&b.median));
        match best {
            // In a round, another choice may have its second sample before the best one has.
            Some(lane) if lane.samples.len() >= LEAST_BEFORE_EARLY_STOP => {
                lane.samples.iter().copied().fold(0.0, f64::max)
            }
            _ => f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a race over synthetic clocks with at most `most` choices a turn: `time(choice, sample)` in milliseconds. Returns the
    /// samples of each choice, and all turns.
    fn run(
        policy: &TimingPolicy,
        choices: usize,
        most: usize,
        time: impl Fn(usize, usize) -> f64,
    ) -> (Vec<Vec<f64>>, Vec<usize>) {
        let mut race = Race::new(policy, choices, Seed(7, 1));
        let mut order = Vec::new();
        loop {
            let turn = race.turn(most);
            if turn.is_empty() {
                return (race.lanes.into_iter().map(|lane| lane.samples).collect(), order);
            }
            for choice in turn {
                let ms = time(choice.index(), race.lanes[choice.index()].samples.len());
                race.record(choice, ms, ms);
                order.push(choice.index());
            }
            assert!(order.len() < 10_000, "the race does not end");
        }
    }

    /// The number of samples of each choice.
    fn counts(policy: &TimingPolicy, choices: usize, time: impl Fn(usize, usize) -> f64) -> Vec<usize> {
        run(policy, choices, 1, time).0.iter().map(Vec::len).collect()
    }

    #[test]
    fn choices_take_turns_in_an_order_that_changes() {
        let policy = TimingPolicy {
            max_samples: 30,
            target_relative_error: 0.0,
            budget_ms: 1e9,
            ..TimingPolicy::default()
        };
        // Equal times would be precise after a few samples.
        let time = |_, sample: usize| 1.0 + 0.01 * (sample % 7) as f64;
        let (_, order) = run(&policy, 3, 1, time);
        let mut rounds: Vec<Vec<usize>> = order.chunks(3).map(<[usize]>::to_vec).collect();
        // Each choice follows each other one about equally often.
        for choice in 0..3 {
            let follows = |other: usize| order.windows(2).filter(|pair| **pair == [other, choice]).count();
            assert!((0..3).filter(|other| *other != choice).all(|other| follows(other) >= 4), "{order:?}");
        }
        rounds.iter_mut().for_each(|round| round.sort_unstable());
        assert_eq!(rounds, vec![vec![0, 1, 2]; 30], "each has one turn in every round, to the maximum");
        assert_eq!(order, run(&policy, 3, 1, time).1, "the same seed gives the same order");
    }

    #[test]
    fn the_samples_do_not_depend_on_how_many_choices_a_turn_has() {
        let policy = TimingPolicy { burst: 1, max_samples: 9, ..TimingPolicy::default() };
        let time =
            |choice: usize, sample: usize| 1.0 + (choice * 7 % 5) as f64 + (sample * 3 % 4) as f64 * 0.1;
        let one = run(&policy, 11, 1, time);
        for most in [2, 4, 11, 100] {
            assert_eq!(run(&policy, 11, most, time), one, "{most}");
        }
    }

    #[test]
    fn a_choice_stops_when_it_is_precise_or_full_or_has_spent_its_budget() {
        let steady = counts(&TimingPolicy::default(), 1, |_, _| 1.0);
        assert_eq!(steady, [interval::LEAST_SAMPLES], "as soon as an interval exists");
        let noisy = |_, i: usize| if i.is_multiple_of(2) { 1.0 } else { 1.5 };
        assert_eq!(counts(&TimingPolicy { max_samples: 20, ..TimingPolicy::default() }, 1, noisy), [20]);
        let policy = TimingPolicy { budget_ms: 100.0, ..TimingPolicy::default() };
        assert_eq!(counts(&policy, 1, |_, i| 40.0 + f64::from(u8::try_from(i).unwrap())), [3]);
    }

    #[test]
    fn one_hiccup_makes_no_choice_dominated() {
        let hiccup = |choice, i| if choice == 1 && i == 0 { 50.0 } else { 1.0 };
        let policy = TimingPolicy { budget_ms: 1e9, ..TimingPolicy::default() };
        assert!(counts(&policy, 2, hiccup)[1] >= interval::LEAST_SAMPLES);
    }

    #[test]
    fn early_stopping_waits_for_the_slowest_sample_of_the_best() {
        // The best choice jitters up to 1.2; 3 times that is 3.6, so 3.5 stays and 3.7 goes.
        let time = |choice, i: usize| match choice {
            0 => [1.0, 1.2][i % 2],
            1 => 3.5,
            _ => 3.7,
        };
        let found = counts(&TimingPolicy::default(), 3, time);
        assert_eq!(found[1], interval::LEAST_SAMPLES);
        assert!(found[2] <= 3, "as soon as the best has a second sample: {found:?}");
    }

    #[test]
    fn an_infinite_ratio_never_stops_early() {
        let policy = TimingPolicy { early_stop_ratio: f64::INFINITY, ..TimingPolicy::default() };
        let found = counts(&policy, 2, |choice, _| if choice == 0 { 0.001 } else { 10.0 });
        assert_eq!(found, [interval::LEAST_SAMPLES; 2]);
    }

    #[test]
    fn a_withdrawn_choice_keeps_no_samples() {
        let policy = TimingPolicy::default();
        let mut race = Race::new(&policy, 2, Seed(0, 0));
        race.record(ChoiceId(0), 1.0, 1.0);
        race.withdraw(ChoiceId(0), Failure::skipped("no"));
        assert_eq!((race.lanes[0].samples.len(), race.turn(2)), (0, vec![ChoiceId(1)]));
        race.withdraw(ChoiceId(1), Failure::skipped("no"));
        assert!(race.turn(1).is_empty());
    }
}
