//! The threshold on the risk ratio that keeps the promise: "with 95 % confidence, on inputs drawn like the
//! calibration inputs, at most a `target` share is more than `limit` times slower than the fallback".
//!
//! The method is fixed-sequence testing (Angelopoulos and others, "Learn then test", 2021): walk a
//! grid that is fixed beforehand, from the safest threshold to the boldest, with an exact binomial test
//! at each step; stop at the first failure. On a known truth this breaks the promise in at most 2.8 %
//! of runs at 95 % confidence. Picking the threshold that fits the calibration inputs breaks it in up
//! to 51 %.
//!
//! The inputs must not have grown the leaf that judges them:
//!
//! | mode | calibration inputs | tested share, level | |
//! | --- | --- | --- | --- |
//! | cross-fitted | 10 folds by input, then a fit on all | target, 0.02 | an estimate: tested, no theorem |
//! | by dimensions | 10 folds by combination of dimensions | target / 2, 0.05 | the same, for new shapes |

use std::sync::LazyLock;

use ah_types::{CalibrationMode, ChoiceId};
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::data::{Cell, Table};
use crate::overhead::{LEAST_MS, Overhead};
use crate::params::{PromiseMode, SplitBy};
use crate::tree::ScoredChoice;

/// The confidence of the promise.
pub const CONFIDENCE: f64 = 0.95;
/// The level of the test by dimensions.
const LEVEL: f64 = 1.0 - CONFIDENCE;
/// The level of the cross-fitted test. It is below that of the confidence because the ensemble that ships is not one of those
/// that were tested, and the size that is taken was lucky beside the others. At 0.05, trainings from 1,000 inputs broke a
/// promise of 2 % in 9 to 14 % of 200 runs (`examples/known_truth.rs`); at 0.03 in 4 to 8 %, at 0.02 in 1.5 to 4.5 %.
const CROSS_FITTED_LEVEL: f64 = 0.02;
/// A share that nobody asked for is promised only if this many violations would be a surprise at the confidence, so that the
/// heuristic can use about half of it. With 2 it can use a quarter, and declines nearly everywhere.
const ROOM: u64 = 4;
/// The shares that a training promises if none is asked for, by the number of inputs.
const DEFAULT_SHARES: [f64; 3] = [0.01, 0.02, 0.05];

impl PromiseMode {
    /// Returns how the promise is calibrated, in the model's terms.
    pub fn calibration(self) -> CalibrationMode {
        match self {
            Self::CrossFitted => CalibrationMode::CrossFitted,
            Self::ByDimensions => CalibrationMode::ByDimensions,
        }
    }

    /// Returns what the folds of the calibration hold out together.
    pub fn held_out_together(self) -> SplitBy {
        match self {
            Self::CrossFitted => SplitBy::Input,
            Self::ByDimensions => SplitBy::Dims,
        }
    }

    /// Returns the tested share and the level of the test.
    pub fn test(self, target: f64) -> (f64, f64) {
        match self {
            Self::CrossFitted => (target, CROSS_FITTED_LEVEL),
            Self::ByDimensions => (target / 2.0, LEVEL),
        }
    }

    /// Returns the share that a training promises if none is asked for: the first of 1, 2 and 5 % that
    /// has room for [`ROOM`] violations among so many inputs that calibrate, else 1 %. A walk that ends at its first violation
    /// declines too often: on mm TIMM (592 inputs to learn from, mean of six seeds) a promise of 1 % decides 52 % and
    /// loses 1.0756, one of 2 % 63 % and 1.0581, one of 5 % 93 % and 1.0379. The number of inputs alone decides, so
    /// their times cannot bend the promise.
    pub fn default_share(self, inputs: usize) -> f64 {
        DEFAULT_SHARES.into_iter().find(|&share| self.has_room(share, inputs)).unwrap_or(DEFAULT_SHARES[0])
    }

    /// Returns whether [`ROOM`] violations among the calibration inputs of so many inputs would be a surprise.
    fn has_room(self, share: f64, inputs: usize) -> bool {
        let (tested, _) = self.test(share);
        passes((tested, 1.0 - CONFIDENCE), inputs, ROOM)
    }

    /// Returns the number of inputs from which on a [default share](Self::default_share) is promised: the strictest, the
    /// loosest.
    pub fn default_inputs(self) -> [usize; 2] {
        let least = |share| (1..).find(|&inputs| self.has_room(share, inputs)).unwrap_or(usize::MAX);
        [least(DEFAULT_SHARES[0]), least(DEFAULT_SHARES[2])]
    }

    /// Returns the least number of inputs with which a threshold without violations passes.
    pub fn min_inputs(self, target: f64) -> usize {
        let (share, level) = self.test(target);
        (level.ln() / (1.0 - share).ln()).ceil() as usize
    }
}

/// Returns whether so many violations among `inputs` inputs pass the test of this share at this level.
pub fn passes((share, level): (f64, f64), inputs: usize, violations: u64) -> bool {
    Binomial::new(share, inputs as u64).is_ok_and(|binomial| binomial.cdf(violations) <= level)
}

/// The threshold and the calibration inputs that break the limit at it.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratedThreshold {
    /// Choices up to this [risk ratio](crate::tree::risk) are allowed; infinite: all, always.
    pub threshold: f64,
    /// Calibration inputs.
    pub inputs: usize,
    /// Those that are slower than the limit.
    pub violations: usize,
    /// Those of the violations that noise does not explain: the fallback's slowest run × limit is
    /// below the choice's fastest run.
    pub clear: usize,
}

/// Steps of the grid. With 240 instead, boosted trees lose 1.0698 instead of 1.0667 on the forward convolutions (without
/// the risks in the rows, mean of four seeds); smaller logs lose as much.
const STEPS: u32 = 2400;

/// Thresholds from "only choices without any risk" to "always decide".
static GRID: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let steps = (0..STEPS).map(|i| 1e-3 * 1e6_f64.powf(f64::from(i) / f64::from(STEPS - 1)));
    std::iter::once(0.0).chain(steps).chain([f64::INFINITY]).collect()
});

/// Returns the first step of the grid that allows a choice with this ratio.
pub fn step(ratio: f64) -> usize {
    GRID.partition_point(|&threshold| threshold < ratio)
}

/// Returns the number of steps of the grid up to this threshold.
pub fn steps_up_to(threshold: f64) -> usize {
    GRID.partition_point(|step| *step <= threshold)
}

/// One input that breaks the limit from one step of the grid on to the last before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    from: usize,
    to: usize,
    clear: bool,
}

/// Returns the choice that a model with this threshold takes from a ranking; `None` if it declines.
pub fn pick(ranking: &[ScoredChoice], fallback: ChoiceId, threshold: f64) -> Option<&ScoredChoice> {
    let is_offered = |choice| ranking.iter().any(|ranked| ranked.choice == choice);
    let picked = ah_types::pick(ranking.iter().map(|r| r.ranked(threshold)), Some(fallback), is_offered)?;
    ranking.iter().find(|ranked| ranked.choice == picked)
}

/// Returns the violations of one input by its ranking, where asking takes `overhead`. The fallback, which a declined input
/// runs after the decision, can be one too.
pub fn violations_of(
    ranking: &[ScoredChoice],
    table: &Table,
    input: u32,
    fallback: ChoiceId,
    limit: f64,
    overhead: &Overhead,
) -> Vec<Violation> {
    let Some(base) = table.usable(input, fallback) else { return Vec::new() };
    let is_slow = |cell: &Cell| {
        let net = overhead.net(cell.time);
        net > limit * base.time && net > base.time + LEAST_MS
    };
    let too_slow = |ranked: &ScoredChoice| table.cell(input, ranked.choice).filter(|cell| is_slow(cell));
    // Most inputs have no choice that is too slow.
    if !is_slow(base) && !ranking.iter().any(|ranked| too_slow(ranked).is_some()) {
        return Vec::new();
    }
    // The pick changes where the threshold passes a ratio.
    let mut steps: Vec<usize> =
        ranking.iter().map(|ranked| step(ranked.ratio)).chain([0, GRID.len()]).collect();
    steps.sort_unstable();
    steps.dedup();
    let between = |steps: &[usize]| {
        let cell = match pick(ranking, fallback, GRID[steps[0]]) {
            Some(picked) => too_slow(picked),
            None => Some(base).filter(|base| is_slow(base)),
        }?;
        let clear = base.interval.1 * limit < overhead.net(cell.interval.0);
        Some(Violation { from: steps[0], to: steps[1], clear })
    };
    steps.windows(2).filter_map(between).collect()
}

/// Walks the grid, testing for a `target` share of `inputs` inputs, of which only so many are `independent`: the same input on
/// several devices counts once. `None`: neither the safest threshold passes nor always deciding.
pub fn fixed_sequence_test(
    violations: &[Violation],
    inputs: usize,
    independent: usize,
    mode: PromiseMode,
    target: f64,
) -> Option<CalibratedThreshold> {
    let (share, level) = mode.test(target);
    let binomial = Binomial::new(share, independent as u64).ok()?;
    // As if all devices broke the limit on the same inputs.
    let on_each = |count: usize| (count * independent).div_ceil(inputs.max(1)) as u64;
    // By step, how many violations begin there less how many end: all, and the clear ones.
    let mut changes = vec![(0, 0); GRID.len() + 1];
    for violation in violations {
        for (step, change) in [(violation.from, 1), (violation.to, -1)] {
            changes[step].0 += change;
            changes[step].1 += change * i64::from(violation.clear);
        }
    }
    let (mut count, mut clear) = (0, 0);
    let calibrated = GRID.iter().zip(changes).map(|(&threshold, change)| {
        (count, clear) = (count + change.0, clear + change.1);
        CalibratedThreshold { threshold, inputs, violations: count as usize, clear: clear as usize }
    });
    let steps: Vec<CalibratedThreshold> = calibrated.collect();
    let passes = |step: &&CalibratedThreshold| binomial.cdf(on_each(step.violations)) <= level;
    let walked = steps.iter().take_while(passes).last();
    // Asking alone may break the limit on short inputs, so that even declining everywhere fails. Then the other end is tested:
    // always deciding, which may save more than it takes to ask.
    walked.or_else(|| steps.last().filter(passes)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always_deciding_is_tested_where_declining_fails() {
        let test = |violations: &[Violation]| {
            fixed_sequence_test(violations, 1000, 1000, PromiseMode::CrossFitted, 0.01)
        };
        let last = GRID.len() - 1;
        let mut violations = vec![Violation { from: 0, to: last, clear: false }; 100];
        let calibrated = test(&violations).expect("always deciding violates nothing");
        assert_eq!((calibrated.threshold, calibrated.violations), (f64::INFINITY, 0));
        violations.extend([Violation { from: last, to: GRID.len(), clear: false }; 100]);
        assert_eq!(test(&violations), None);
    }
}
