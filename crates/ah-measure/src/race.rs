//! The choices of one input, timed in turns.

use ah_types::{TimingPolicy, median};
use rand::seq::SliceRandom as _;

use crate::interval;
use crate::sampling::{Rng, Seed};

/// A choice does not drop out before it has this many samples: an interrupt can hit a single one, which on
/// a busy host made a choice look ten times slower than it is.
const LEAST_BEFORE_EARLY_STOP: usize = 2;

/// The standing of a choice in a [`Race`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It gets more samples.
    Running,
    /// Its median is known to the policy's target.
    Precise,
    /// It has as many samples as the policy allows.
    Full,
    /// It has spent its budget.
    OverBudget,
    /// It is surely slower than another choice.
    Dominated,
    /// It failed, or is not offered here.
    Withdrawn,
}

/// The turns of the choices of one input: each has one in every round, so that a drift of the clock affects all of them.
/// The order changes in every round, so that no choice always follows the same one, whose heat and caches it would inherit.
///
/// A race needs no clock and no device. Its caller asks [`next`](Self::next) for the choice whose turn it
/// is and [`record`](Self::record)s each sample.
///
/// ```
/// use ah_measure::{Race, Standing, sampling::Seed};
/// use ah_types::TimingPolicy;
///
/// let policy = TimingPolicy { early_stop_ratio: 3.0, ..TimingPolicy::default() };
/// let mut race = Race::new(policy, 2, Seed(0, 0));
/// while let Some(choice) = race.next() {
///     let ms = [0.1, 0.9][choice];
///     race.record(choice, ms, ms);
/// }
/// assert_eq!(race.standing(0), Standing::Precise);
/// assert_eq!(race.standing(1), Standing::Dominated);
/// assert!(race.samples(1).len() <= 3);
/// ```
#[derive(Clone, Debug)]
pub struct Race {
    policy: TimingPolicy,
    lanes: Vec<Lane>,
    /// The order of this round.
    order: Vec<usize>,
    /// How many of `order` had their turn.
    turn: usize,
    shuffle: Rng,
}

#[derive(Clone, Debug)]
struct Lane {
    samples: Vec<f64>,
    /// The median; infinite without samples.
    median: f64,
    spent_ms: f64,
    standing: Standing,
}

impl Race {
    /// Returns a race of `choices` choices on the input of this seed.
    pub fn new(policy: TimingPolicy, choices: usize, seed: Seed) -> Self {
        let lane =
            Lane { samples: Vec::new(), median: f64::INFINITY, spent_ms: 0.0, standing: Standing::Running };
        // Not the stream that the input was drawn from.
        let shuffle = Seed(!seed.0, seed.1).rng();
        Self { policy, lanes: vec![lane; choices], order: (0..choices).collect(), turn: choices, shuffle }
    }

    /// Returns the choice whose turn it is; `None` when all are done.
    #[allow(clippy::should_implement_trait)] // Not an iterator: the next choice depends on the recorded samples.
    pub fn next(&mut self) -> Option<usize> {
        self.turn(1).pop()
    }

    /// Returns the next choices of this round, or of a new one, at most `most`; none when all are done. A sample changes
    /// only the standing of its own choice, so the order of all samples does not depend on `most`.
    pub fn turn(&mut self, most: usize) -> Vec<usize> {
        let is_running = |choice: usize| self.lanes[choice].standing == Standing::Running;
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

    /// Records a sample of `choice`: `ms` milliseconds a run, taken in `spent_ms` milliseconds altogether.
    pub fn record(&mut self, choice: usize, ms: f64, spent_ms: f64) {
        let lane = &mut self.lanes[choice];
        lane.samples.push(ms);
        lane.median = median(&lane.samples).unwrap_or(f64::INFINITY);
        lane.spent_ms += spent_ms;
        self.update(choice);
    }

    /// Withdraws `choice`; its samples do not count.
    pub fn withdraw(&mut self, choice: usize) {
        let lane = &mut self.lanes[choice];
        lane.samples.clear();
        lane.median = f64::INFINITY;
        lane.standing = Standing::Withdrawn;
    }

    /// Returns the samples of a choice so far, in milliseconds, in the order in which they were taken.
    pub fn samples(&self, choice: usize) -> &[f64] {
        &self.lanes[choice].samples
    }

    /// Returns the standing of a choice.
    pub fn standing(&self, choice: usize) -> Standing {
        self.lanes[choice].standing
    }

    fn update(&mut self, choice: usize) {
        let best_slowest = self.slowest_of_best();
        let policy = &self.policy;
        let lane = &mut self.lanes[choice];
        let n = lane.samples.len();
        let fastest = lane.samples.iter().copied().fold(f64::INFINITY, f64::min);
        lane.standing = if n >= policy.max_samples.max(1) as usize {
            Standing::Full
        } else if n >= LEAST_BEFORE_EARLY_STOP && fastest > best_slowest * policy.early_stop_ratio {
            Standing::Dominated
        } else if lane.spent_ms >= policy.budget_ms {
            Standing::OverBudget
        } else if n >= policy.min_samples as usize
            && interval::relative_error(&lane.samples).is_some_and(|e| e <= policy.target_relative_error)
        {
            Standing::Precise
        } else {
            Standing::Running
        };
    }

    /// Returns the slowest sample of the choice with the least median.
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

    /// Runs a race over synthetic clocks: `time(choice, sample)` in milliseconds.
    fn run(policy: TimingPolicy, choices: usize, time: impl Fn(usize, usize) -> f64) -> (Race, Vec<usize>) {
        let mut race = Race::new(policy, choices, Seed(7, 1));
        let mut order = Vec::new();
        while let Some(choice) = race.next() {
            let ms = time(choice, race.samples(choice).len());
            race.record(choice, ms, ms);
            order.push(choice);
            assert!(order.len() < 10_000, "the race does not end");
        }
        (race, order)
    }

    #[test]
    fn choices_take_turns_in_an_order_that_changes() {
        let (max_samples, target_relative_error, budget_ms) = (30, 0.0, 1e9);
        let policy =
            TimingPolicy { max_samples, target_relative_error, budget_ms, ..TimingPolicy::default() };
        // Equal times would be precise after a few samples.
        let time = |_, sample: usize| 1.0 + 0.01 * (sample % 7) as f64;
        let (race, order) = run(policy, 3, time);
        let mut rounds: Vec<Vec<usize>> = order.chunks(3).map(<[usize]>::to_vec).collect();
        // Each choice follows each other one about equally often.
        for choice in 0..3 {
            let follows = |other: usize| order.windows(2).filter(|pair| **pair == [other, choice]).count();
            assert!((0..3).filter(|other| *other != choice).all(|other| follows(other) >= 4), "{order:?}");
        }
        rounds.iter_mut().for_each(|round| round.sort_unstable());
        assert_eq!(rounds, vec![vec![0, 1, 2]; 30], "each has one turn in every round");
        assert_eq!(race.standing(2), Standing::Full);
        assert_eq!(order, run(policy, 3, time).1, "the same seed gives the same order");
    }

    #[test]
    fn the_samples_do_not_depend_on_how_many_choices_a_turn_has() {
        let policy = TimingPolicy { burst: 1, max_samples: 9, ..TimingPolicy::default() };
        let time =
            |choice: usize, sample: usize| 1.0 + (choice * 7 % 5) as f64 + (sample * 3 % 4) as f64 * 0.1;
        let (one, order) = run(policy, 11, time);
        for most in [2, 4, 11, 100] {
            let (mut race, mut turns) = (Race::new(policy, 11, Seed(7, 1)), Vec::new());
            loop {
                let turn = race.turn(most);
                if turn.is_empty() {
                    break;
                }
                for &choice in &turn {
                    let ms = time(choice, race.samples(choice).len());
                    race.record(choice, ms, ms);
                }
                turns.extend(turn);
            }
            assert_eq!(turns, order, "{most}");
            assert!((0..11).all(|choice| race.samples(choice) == one.samples(choice)));
        }
    }

    #[test]
    fn a_steady_choice_stops_as_soon_as_an_interval_exists() {
        let (race, _) = run(TimingPolicy::default(), 1, |_, _| 1.0);
        assert_eq!((race.samples(0).len(), race.standing(0)), (interval::LEAST_SAMPLES, Standing::Precise));
    }

    #[test]
    fn a_noisy_choice_goes_on_to_the_maximum() {
        let noisy = |_, i: usize| if i.is_multiple_of(2) { 1.0 } else { 1.5 };
        let (race, _) = run(TimingPolicy { max_samples: 20, ..TimingPolicy::default() }, 1, noisy);
        assert_eq!((race.samples(0).len(), race.standing(0)), (20, Standing::Full));
    }

    #[test]
    fn a_slow_choice_stops_at_its_budget() {
        let policy = TimingPolicy { budget_ms: 100.0, ..TimingPolicy::default() };
        let (race, _) = run(policy, 1, |_, i| 40.0 + f64::from(u8::try_from(i).unwrap()));
        assert_eq!((race.samples(0).len(), race.standing(0)), (3, Standing::OverBudget));
    }

    #[test]
    fn one_hiccup_makes_no_choice_dominated() {
        let hiccup = |choice, i| if choice == 1 && i == 0 { 50.0 } else { 1.0 };
        let (race, _) = run(TimingPolicy { budget_ms: 1e9, ..TimingPolicy::default() }, 2, hiccup);
        assert!(race.samples(1).len() >= interval::LEAST_SAMPLES);
        assert_ne!(race.standing(1), Standing::Dominated);
    }

    #[test]
    fn early_stopping_waits_for_the_slowest_sample_of_the_best() {
        // The best choice jitters up to 1.2; 3 times that is 3.6, so 3.5 stays and 3.7 goes.
        let time = |choice, i: usize| match choice {
            0 => [1.0, 1.2][i % 2],
            1 => 3.5,
            _ => 3.7,
        };
        let (race, _) = run(TimingPolicy::default(), 3, time);
        assert_ne!(race.standing(1), Standing::Dominated);
        assert!(race.samples(2).len() <= 3, "as soon as the best has a second sample");
        assert_eq!(race.standing(2), Standing::Dominated);
    }

    #[test]
    fn an_infinite_ratio_never_stops_early() {
        let policy = TimingPolicy { early_stop_ratio: f64::INFINITY, ..TimingPolicy::default() };
        let (race, _) = run(policy, 2, |choice, _| if choice == 0 { 0.001 } else { 10.0 });
        assert_eq!(race.standing(1), Standing::Precise);
    }

    #[test]
    fn a_withdrawn_choice_keeps_no_samples() {
        let mut race = Race::new(TimingPolicy::default(), 2, Seed(0, 0));
        race.record(0, 1.0, 1.0);
        race.withdraw(0);
        assert_eq!((race.samples(0).len(), race.turn(2)), (0, vec![1]));
        race.withdraw(1);
        assert_eq!(race.next(), None);
    }
}
