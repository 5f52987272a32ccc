//! How good a split is: how much it lowers the multi-output variance of the soft targets plus,
//! with the weight `alpha`, the cost of taking one choice for all rows.
//!
//! `gain = (|qL|²/nL + |qR|²/nR − |q|²/n) / SSE + alpha · (R − RL − RR) / R`
//!
//! q is the sum of the soft targets of a node's rows and n their number. SSE is the sum of their
//! squared deviations from their mean. R is the least total cost of a single choice. L and R as
//! indices are the two sides.
//!
//! Sums are whole numbers, so they are exact in any order. Only the gain is a float; it depends
//! on the sums alone, so equal partitions have equal gains in every column.

use super::lanes::{Block, Lanes, Sums, WideBlock, fold, zip_map};
use super::samples::{RowFacts, Samples};

/// The best split of one column in a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub gain: f64,
    /// The column's position.
    pub column: u32,
    /// The neighbouring codes left and right of the split, of rows inside the node.
    pub codes: (u16, u16),
}

/// The sums of a node's rows, and the parts of the gain that depend on the node alone.
pub(super) struct Totals {
    /// Blocks of targets (padded with 0), then blocks of costs (padded with the first cost).
    pub lanes: Vec<Block>,
    pub target_blocks: usize,
    /// The targets in double precision.
    wide_targets: Vec<WideBlock>,
    rows: RowSums,
    /// `|q|² / n`
    whole: f64,
    /// SSE
    deviation: f64,
    /// R
    cost: i32,
}

/// The sums of what rows have beside their lanes.
#[derive(Clone, Copy, Default)]
pub(super) struct RowSums {
    /// Sum of weights.
    count: u64,
    squares: u128,
    /// An upper bound of a row's squared targets.
    max_square: u64,
    /// Sum of each row's least cost: no split can cost less.
    least_cost: i32,
    /// An upper bound of a row's cost spread.
    max_spread: u32,
}

impl RowSums {
    #[inline(always)]
    pub(super) fn add(&mut self, samples: &Samples, row: u32) {
        let RowFacts { square, count, least_cost, cost_spread, .. } = *samples.facts(row);
        self.count += u64::from(count);
        self.squares += u128::from(square);
        self.max_square = self.max_square.max(square / u64::from(count));
        self.least_cost += least_cost;
        self.max_spread = self.max_spread.max(cost_spread.unsigned_abs().div_ceil(count));
    }
}

/// The factors that turn sums into gains.
#[derive(Clone, Copy)]
pub(super) struct Scales {
    variance: f64,
    cost: f64,
}

impl Totals {
    /// Completes these sums of lanes.
    pub(super) fn new(lanes: Vec<Block>, target_blocks: usize, rows: RowSums) -> Self {
        let RowSums { count, squares, .. } = rows;
        let sums = lanes[..target_blocks].as_flattened();
        let square: u128 = sums.iter().map(|&s| u128::from(s.unsigned_abs()).pow(2)).sum();
        // count * squares - |sum|² is exact and never negative (Cauchy-Schwarz).
        let deviation = (u128::from(count) * squares).saturating_sub(square) as f64 / count as f64;
        let cost = lanes[target_blocks..].as_flattened().iter().copied().min().unwrap_or(0);
        let wide_targets = lanes[..target_blocks].iter().map(|block| block.map(f64::from)).collect();
        let whole = square as f64 / count as f64;
        Self { lanes, target_blocks, wide_targets, rows, whole, deviation, cost }
    }

    /// Returns the totals of the rows of `all` that are not in `part`.
    pub(super) fn rest(all: &Self, part: &Self) -> Self {
        let lanes = all.lanes.iter().zip(&part.lanes).map(|(&a, &b)| zip_map(a, b, i32::wrapping_sub));
        let rows = RowSums {
            count: all.rows.count - part.rows.count,
            squares: all.rows.squares - part.rows.squares,
            max_square: all.rows.max_square,
            least_cost: all.rows.least_cost - part.rows.least_cost,
            max_spread: all.rows.max_spread,
        };
        Self::new(lanes.collect(), all.target_blocks, rows)
    }

    /// Returns the sum of the targets' squared deviations from their mean.
    pub(super) fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Returns whether all rows have the same targets: no split can gain anything.
    pub(super) fn is_pure(&self) -> bool {
        self.deviation <= 0.0
    }

    /// Returns the scales of this node. `one` stands for a soft target of 1.
    pub(super) fn scales(&self, alpha: f64, one: f64) -> Scales {
        Scales {
            variance: 1.0 / self.deviation.max(1e-6 * one * one),
            cost: alpha / f64::from(self.cost).max(1.0),
        }
    }

    /// Returns an upper bound of the gain of a split of this node.
    pub(super) fn max_gain(&self, scales: &Scales) -> f64 {
        self.deviation * scales.variance + self.max_cost_gain(scales)
    }

    fn max_cost_gain(&self, scales: &Scales) -> f64 {
        f64::from(self.cost - self.rows.least_cost) * scales.cost
    }

    /// Returns the scorer of this node's splits.
    #[inline(always)]
    pub(super) fn scorer<L: Lanes>(&self, scales: &Scales, lanes: L) -> SplitScorer<'_, L> {
        // Each row that changes sides raises the variance's gain by at most twice the greatest
        // square: |q|²/n is convex, so |qL|²/nL grows by at most the row's square, and |qR|²/nR by
        // at most the square of the rest.
        let variance_per_count = (2 * self.rows.max_square) as f64 * scales.variance;
        // The cost's gain rises by at most the row's cost spread: the least sum on the left grows
        // by at least the row's least cost, the one on the right falls by at most its greatest.
        let both_per_count = variance_per_count + f64::from(self.rows.max_spread) * scales.cost;
        SplitScorer {
            totals: self,
            scales: *scales,
            max_cost_gain: self.max_cost_gain(scales),
            counts_per_variance: 1.0 / variance_per_count,
            counts_per_gain: 1.0 / both_per_count,
            lanes,
        }
    }
}

/// Judges the splits of one node.
pub(super) struct SplitScorer<'a, L> {
    totals: &'a Totals,
    scales: Scales,
    max_cost_gain: f64,
    /// Least weight that must change sides for the variance to gain 1.
    counts_per_variance: f64,
    /// The same for the whole gain.
    counts_per_gain: f64,
    lanes: L,
}

impl<L: Lanes> SplitScorer<'_, L> {
    /// Returns the gain of the split with these sums on its left if it is above `best`, and the
    /// least weight that must change sides before another split can be.
    #[inline(always)]
    pub(super) fn gain_above(&self, best: f64, left: &impl Sums, left_count: u64) -> (Option<f64>, u64) {
        let totals = self.totals;
        let all_costs = &totals.lanes[totals.target_blocks..];
        let mut squares = [[0.0_f64; 8]; 2];
        for (sums, all) in left.targets().iter().zip(&totals.wide_targets) {
            squares = self.lanes.add_squares(squares, *sums, *all);
        }
        let [left_square, right_square] = squares.map(
            #[inline(always)]
            |s| fold(s, |a, b| a + b),
        );
        let (left_count, right_count) = (left_count as f64, (totals.rows.count - left_count) as f64);
        let parts = (left_square * right_count + right_square * left_count) / (left_count * right_count);
        let gain = (parts - totals.whole) * self.scales.variance;
        // Rounding is monotone, so this skips no split that would be above.
        if gain + self.max_cost_gain <= best {
            return (None, self.wait(best, gain));
        }
        let gain = gain + f64::from(totals.cost - least_cost(left.costs(), all_costs)) * self.scales.cost;
        if gain > best { (Some(gain), 0) } else { (None, counts(best - gain, self.counts_per_gain)) }
    }

    /// Returns the least weight that must change sides before a split gains more than `best`, when
    /// the variance gains `variance_gain` now.
    #[inline(always)]
    pub(super) fn wait(&self, best: f64, variance_gain: f64) -> u64 {
        counts(best - self.max_cost_gain - variance_gain, self.counts_per_variance)
    }
}

/// Returns a lower bound of the weight that must change sides for this gain, at `per_gain` for a
/// gain of 1. Reduced by 1e-6 to absorb rounding.
#[inline(always)]
fn counts(gain: f64, per_gain: f64) -> u64 {
    (gain * per_gain * (1.0 - 1e-6)) as u64
}

/// Returns the least cost in `part` plus the least cost in `all - part`.
#[inline(always)]
fn least_cost(part: &[Block], all: &[Block]) -> i32 {
    if part.is_empty() {
        return 0;
    }
    let mut least = [[i32::MAX; 8]; 2];
    for (part, all) in part.iter().zip(all) {
        least[0] = zip_map(least[0], *part, i32::min);
        least[1] = zip_map(least[1], zip_map(*all, *part, i32::wrapping_sub), i32::min);
    }
    fold(least[0], i32::min) + fold(least[1], i32::min)
}
