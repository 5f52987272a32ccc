//! The margin that keeps the promise: "with 95 % confidence, on inputs drawn like the calibration inputs, at most a `target`
//! share is more than `limit` times slower than the fallback".
//!
//! A choice is taken where it saves at least the margin by the scores: `score(fallback) - score(choice) >= margin`. The method
//! is fixed-sequence testing (Angelopoulos and others, "Learn then test", 2021): walk a grid that is fixed beforehand, from the
//! safest margin to the boldest, with an exact binomial test at each step; stop at the first failure. On a known truth this
//! breaks the promise in at most 2.8 % of runs at 95 % confidence. Picking the margin that fits the calibration inputs breaks it
//! in up to 51 %.
//!
//! The inputs must not have taught the fit that decides them, so [`super::folds`] holds them out, each once.
//!
//! Inputs count by their weight. Inputs that are held out together count as one, so the test sees the effective number of
//! inputs: the square of the summed weights over the sum of the squared weights of these groups.

use ah_model::math::{exp, ln};
use std::sync::LazyLock;

use ah_model::{ChoiceId, Promise, PromiseMode};
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::data::Table;
use crate::decisions::JudgedInput;

/// The margin that takes no choice but the fallback. Such a model is a constant: nothing needs to be asked.
pub const NEVER: f64 = f64::INFINITY;
/// The margin that takes every choice, also where the fallback has no score.
pub const ALWAYS: f64 = f64::NEG_INFINITY;

/// The confidence of the promise.
pub const CONFIDENCE: f64 = 0.95;
/// The level of the test. It is below that of the confidence because the ensemble that ships is not one of those that were
/// tested, and the size that is taken was lucky beside the others. At 0.05, trainings from 1,000 inputs broke a promise of 2 %
/// in 9 to 14 % of 200 runs (`examples/known_truth.rs`); at 0.03 in 4 to 8 %, at 0.02 in 1.5 to 4.5 %.
pub const LEVEL: f64 = 0.02;
/// A default share is promised only if this many violations would be a surprise at the confidence, so that the
/// heuristic can use about half of it. With 2 it can use a quarter, and declines nearly everywhere.
const DEFAULT_SHARE_VIOLATIONS: u64 = 4;
/// The shares that a training promises if none is asked for, by the number of inputs.
pub const DEFAULT_SHARES: [f64; 3] = [0.01, 0.02, 0.05];

/// The share that is tested, at [`LEVEL`]. New shapes are slower 1.4 to 2.8 times as often as folds by shape show, so by group
/// half the share is tested.
pub fn tested(mode: PromiseMode, target: f64) -> f64 {
    match mode {
        PromiseMode::CrossFitted => target,
        PromiseMode::ByGroup => target / 2.0,
    }
}

/// A share to promise, and the level of its test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The share of inputs that may be too slow.
    pub share: f64,
    /// The level.
    pub level: f64,
}

impl Look {
    /// The only look: at a share that was asked for.
    pub fn only(share: f64) -> Self {
        Self { share, level: LEVEL }
    }
}

/// The level of a look behind the first one. The times decide which look is the last, so the levels add up: some look passes wrongly at
/// most in [`LEVEL`] and twice this, 2.4 %. Where a stricter share has room, a looser one has much of it: of 1,140 inputs 36 may be too
/// slow for 5 %, and 41 at [`LEVEL`].
const LATER_LEVEL: f64 = 0.002;

/// The shares that a training tries in turn if none is given, until a heuristic keeps one: those of 1, 2 and 5 % that have room
/// for [`DEFAULT_SHARE_VIOLATIONS`] violations among this effective number of inputs; none if they are too few.
///
/// A walk that ends at its first violation declines too often: on mm TIMM (592 inputs to learn from, mean of six seeds) a promise
/// of 1 % decides 52 % and loses 1.0756, one of 2 % 63 % and 1.0581, one of 5 % 93 % and 1.0379. So the number of inputs decides
/// which look is the first.
pub fn default_looks(mode: PromiseMode, inputs: usize) -> Vec<Look> {
    let shares = DEFAULT_SHARES.into_iter().filter(|&share| has_room(mode, share, inputs));
    let look = |(at, share)| Look { share, level: if at == 0 { LEVEL } else { LATER_LEVEL } };
    shares.enumerate().map(look).collect()
}

fn has_room(mode: PromiseMode, share: f64, inputs: usize) -> bool {
    most_violations(tested(mode, share), 1.0 - CONFIDENCE, inputs)
        .is_some_and(|most| most >= DEFAULT_SHARE_VIOLATIONS)
}

/// The number of inputs from which on this one of [`DEFAULT_SHARES`] is promised.
pub fn default_inputs(mode: PromiseMode, share: f64) -> usize {
    (1..).find(|&inputs| has_room(mode, share, inputs)).unwrap_or(usize::MAX)
}

/// The least number of inputs with which a margin without violations passes.
pub fn min_inputs(mode: PromiseMode, target: f64) -> usize {
    (ln(LEVEL) / ln(1.0 - tested(mode, target))).ceil() as usize
}

/// The most violations among `inputs` inputs that pass the test of this share at this level; `None` if not even 0 pass.
fn most_violations(share: f64, level: f64, inputs: usize) -> Option<u64> {
    let binomial = Binomial::new(share, inputs as u64).ok()?;
    (0..=inputs as u64).take_while(|&violations| binomial.cdf(violations) <= level).last()
}

/// Whether a choice that saves `saved` by the scores is taken at a margin.
pub fn is_taken(saved: f64, margin: f64) -> bool {
    saved >= margin && margin < NEVER
}

/// A margin, and the promise that it keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Margin {
    /// Choices that save at least as much are taken.
    pub least: f64,
    /// `None`: there is none, or the inputs are too few to test it.
    pub promise: Option<Promise>,
}

/// Margins between [`NEVER`] and [`ALWAYS`]. With 240 instead of 2,400 steps over as many decades, boosted trees lose 1.0698
/// instead of 1.0667 on the forward convolutions.
const STEPS: u32 = 2400;
/// Margins are multiples of this, so that a model file holds them in few digits.
const MARGIN_STEP: f64 = 1.0 / (1 << 20) as f64;

/// Margins from "only the fallback" to "always decide". Each is a multiple of what a model can hold.
static GRID: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let steps = (0..STEPS).map(|i| 30.0 * exp(ln(1e-6) * f64::from(i) / f64::from(STEPS - 1)));
    let steps = steps.map(|margin| (margin / MARGIN_STEP).ceil() * MARGIN_STEP);
    std::iter::once(NEVER).chain(steps).chain([ALWAYS]).collect()
});

/// The decisions that calibrate, and what is slow about them.
pub struct Calibration {
    /// By input, what it saves, the greatest first.
    rows: Vec<Row>,
    /// The sum of the weights.
    weight: f64,
    /// The effective number of independent inputs.
    independent: usize,
    /// An input breaks the limit where it takes more than this many times as long as the fallback.
    limit: f64,
}

/// One decision.
struct Row {
    saved: f64,
    weight: f64,
    /// Whether the input breaks the limit where the choice is taken.
    taken: bool,
    /// Whether it does where the model declines: asking alone may break it.
    declined: bool,
}

impl Calibration {
    /// The calibration by these decisions, which count as this many independent ones.
    pub fn new(
        judged: &[JudgedInput],
        independent: usize,
        table: &Table,
        fallback: ChoiceId,
        limit: f64,
    ) -> Self {
        let row = |judged: &JudgedInput| {
            let base = table.usable(judged.input, fallback);
            let breaks = |choice: ChoiceId| {
                let cells = base.zip(table.cell(judged.input, choice));
                cells.is_some_and(|(base, cell)| {
                    Table::breaks(limit, judged.overhead.net(cell.time), base.time)
                })
            };
            Row {
                saved: judged.saved,
                weight: table.inputs[judged.input as usize].weight,
                taken: breaks(judged.ranked(fallback)),
                declined: breaks(fallback),
            }
        };
        let mut rows: Vec<Row> = judged.iter().map(row).collect();
        let weight = rows.iter().map(|row| row.weight).sum();
        rows.sort_by(|a, b| b.saved.total_cmp(&a.saved));
        Self { rows, weight, independent, limit }
    }

    /// Walks the grid for a promise. `None`: the inputs are too few for any test.
    pub fn walk(&self, mode: PromiseMode, look: Look) -> Option<Margin> {
        // Where asking alone breaks the limit on some inputs, the walk may end where it begins. Then its other end is tested too:
        // always deciding, which may save more than it takes to ask. Each start has half the level. Whether there are two follows
        // from the fallback's times, not from what is decided.
        let asking_breaks = self.rows.iter().any(|row| row.declined);
        let level = if asking_breaks { look.level / 2.0 } else { look.level };
        let most = most_violations(tested(mode, look.share), level, self.independent)?;
        // As if all inputs of the share were independent ones.
        let passes =
            |weight: f64| (weight / self.weight * self.independent as f64 - 1e-9).ceil() as u64 <= most;
        // The violations: first all decline, then one input more decides at each step.
        let declined = self.rows.iter().filter(|row| row.declined);
        let mut violations = declined.clone().count() as u64;
        let mut weight: f64 = declined.map(|row| row.weight).sum();
        let mut decided = 0;
        let mut steps = GRID[1..].iter().map(|&margin| {
            while let Some(row) = self.rows.get(decided).filter(|row| row.saved >= margin) {
                weight += row.weight * (f64::from(row.taken) - f64::from(row.declined));
                violations = violations + u64::from(row.taken) - u64::from(row.declined);
                decided += 1;
            }
            // If no input reaches the margin, the model is constant.
            let margin = if decided > 0 { margin } else { NEVER };
            Step { margin, violations, passes: passes(weight) }
        });
        let bold = steps.by_ref().take_while(|step| step.passes).filter(|step| step.margin < NEVER).last();
        let always = steps.last().filter(|always| asking_breaks && bold.is_none() && always.passes);
        let never = Step { margin: NEVER, violations: 0, passes: true };
        let Step { margin, violations, .. } = bold.or(always).unwrap_or(never);
        let promise = Promise {
            target: look.share,
            confidence: CONFIDENCE,
            limit: self.limit,
            mode,
            inputs: self.rows.len() as u64,
            groups: self.independent as u64,
            violations,
            threshold: Some(margin).filter(|margin| margin.is_finite()),
        };
        Some(Margin { least: margin, promise: Some(promise) })
    }
}

/// A step of the walk.
struct Step {
    margin: f64,
    /// The inputs that break the limit.
    violations: u64,
    /// Whether the test passes.
    passes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: bool = false;
    const SLOW: bool = true;

    fn calibration(rows: Vec<Row>) -> Calibration {
        let weight = rows.iter().map(|row| row.weight).sum();
        let independent = rows.len();
        Calibration { rows, weight, independent, limit: 1.05 }
    }

    fn row(saved: f64, taken: bool, declined: bool) -> Row {
        Row { saved, weight: 1.0, taken, declined }
    }

    #[test]
    fn a_choice_is_taken_where_it_saves_the_margin() {
        // The 900 inputs that save a half are quick, the 100 that save a tenth are slow.
        let mut rows: Vec<Row> = (0..900).map(|_| row(0.5, QUICK, QUICK)).collect();
        rows.extend((0..100).map(|_| row(0.1, SLOW, QUICK)));
        let Margin { least, promise } =
            calibration(rows).walk(PromiseMode::CrossFitted, Look::only(0.01)).unwrap();
        assert!(least > 0.1 && least <= 0.5, "{least}");
        let promise = promise.unwrap();
        assert_eq!((promise.violations, promise.inputs), (0, 1000));
    }

    #[test]
    fn always_deciding_is_tested_where_asking_alone_breaks_the_limit() {
        let rows = |taken| (0..1000).map(|_| row(1e-6, taken, SLOW)).collect();
        let walk = |taken| calibration(rows(taken)).walk(PromiseMode::CrossFitted, Look::only(0.01)).unwrap();
        assert_eq!(walk(QUICK).least, ALWAYS);
        // A constant asks nothing.
        let never = walk(SLOW);
        assert_eq!((never.least, never.promise.unwrap().violations), (NEVER, 0));
    }

    #[test]
    fn each_start_has_half_the_level() {
        let least = min_inputs(PromiseMode::CrossFitted, 0.01);
        assert_eq!(least, 390);
        let walk = |inputs: usize, first: bool| {
            let rows = (0..inputs).map(|at| row(0.5, QUICK, if at == 0 { first } else { QUICK }));
            calibration(rows.collect()).walk(PromiseMode::CrossFitted, Look::only(0.01))
        };
        assert!(walk(least, QUICK).is_some() && walk(least - 1, QUICK).is_none());
        // Asking may break the limit somewhere: two starts.
        assert!(walk(459, SLOW).is_some() && walk(458, SLOW).is_none());
    }

    #[test]
    fn few_inputs_begin_with_a_looser_promise() {
        let shares = |inputs| -> Vec<f64> {
            let looks = default_looks(PromiseMode::CrossFitted, inputs);
            assert!(looks.iter().map(|look| look.level).sum::<f64>() <= LEVEL + 2.0 * LATER_LEVEL);
            looks.into_iter().map(|look| look.share).collect()
        };
        let expected: [&[f64]; 4] = [&[], &[0.05], &[0.02, 0.05], &[0.01, 0.02, 0.05]];
        assert_eq!([100, 200, 500, 1000].map(shares), expected);
        assert_eq!(most_violations(0.05, LATER_LEVEL, 1140), Some(36));
        assert_eq!(most_violations(0.05, LEVEL, 1140), Some(41));
    }

    #[test]
    fn violations_count_by_weight() {
        // One slow input in a hundred, of 99 times the weight.
        let rows = (0..2000).map(|at| Row {
            weight: if at % 100 == 0 { 99.0 } else { 1.0 },
            ..row(0.5, if at % 100 == 0 { SLOW } else { QUICK }, QUICK)
        });
        let calibrated =
            calibration(rows.collect()).walk(PromiseMode::CrossFitted, Look::only(0.05)).unwrap();
        assert_eq!(calibrated.least, NEVER);
    }
}
