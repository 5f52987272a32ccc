//! How a split is judged: by how much it lowers the multi-output variance of the soft targets
//! and, weighted with `alpha`, the cost of one choice for all.
//!
//! `gain = (|qL|²/nL + |qR|²/nR − |q|²/n) / SSE + alpha · (R − RL − RR) / R`, where q is the sum
//! of the soft targets of a node's rows, SSE their squared deviation from their mean and R the
//! least total cost of a single choice. Sums are whole numbers, so they are exact in any order;
//! only the gain is a float, and it is a function of them, so equal partitions have equal gains
//! in every column.
//!
//! Sums stand in blocks of eight lanes, first those of the targets (filled up with zeros), then
//! those of the costs (filled up with copies of the first).

use super::lanes::{Block, Lanes, Sums, Wide, folded, zipped};
use super::samples::{Facts, Samples};

/// The best split of one column in a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub gain: f64,
    /// The column's position.
    pub column: u32,
    /// Neighbouring codes inside the node, left and right of the split.
    pub codes: (u16, u16),
}

/// What sums of a node's rows give.
pub(super) struct Totals {
    pub lanes: Vec<Block>,
    /// Blocks of targets; the rest are costs.
    pub targets: usize,
    /// The targets once more, as the judge wants them.
    wide: Vec<Wide>,
    rows: RowSums,
    /// `|q|² / n`
    whole: f64,
    /// SSE
    deviation: f64,
    /// R
    cost: i32,
}

/// What rows add up to beside their lanes.
#[derive(Clone, Copy, Default)]
pub(super) struct RowSums {
    /// Rows, each as often as it counts.
    count: u64,
    squares: u128,
    /// At least the greatest squared target of a row.
    most_square: u64,
    /// The sum of each row's least cost: no split leaves less.
    least: i32,
    /// At least the greatest spread of the costs of a row.
    most_spread: u32,
}

impl RowSums {
    /// Adds a row.
    #[inline(always)]
    pub(super) fn add(&mut self, samples: &Samples, row: u32) {
        let Facts { square, count, least, spread, .. } = *samples.facts(row);
        self.count += u64::from(count);
        self.squares += u128::from(square);
        self.most_square = self.most_square.max(square / u64::from(count));
        self.least += least;
        self.most_spread = self.most_spread.max(spread.unsigned_abs().div_ceil(count));
    }
}

/// What gains are divided by.
#[derive(Clone, Copy)]
pub(super) struct Scales {
    variance: f64,
    cost: f64,
}

impl Totals {
    /// Of the rows of `all` that are not in `part`.
    pub(super) fn rest(all: &Self, part: &Self) -> Self {
        let lanes = all.lanes.iter().zip(&part.lanes).map(|(&a, &b)| zipped(a, b, i32::wrapping_sub));
        let rows = RowSums {
            count: all.rows.count - part.rows.count,
            squares: all.rows.squares - part.rows.squares,
            most_square: all.rows.most_square,
            least: all.rows.least - part.rows.least,
            most_spread: all.rows.most_spread,
        };
        Self::new(lanes.collect(), all.targets, rows)
    }

    /// Of these sums of lanes, whose first `targets` blocks are targets.
    pub(super) fn new(lanes: Vec<Block>, targets: usize, rows: RowSums) -> Self {
        let RowSums { count, squares, .. } = rows;
        let sums = lanes[..targets].as_flattened();
        let square: u128 = sums.iter().map(|&s| u128::from(s.unsigned_abs()).pow(2)).sum();
        // count * squares - |sum|² is exact and never negative (Cauchy-Schwarz).
        let deviation = (u128::from(count) * squares).saturating_sub(square) as f64 / count as f64;
        let cost = lanes[targets..].as_flattened().iter().copied().min().unwrap_or(0);
        let wide = lanes[..targets].iter().map(|block| block.map(f64::from)).collect();
        let whole = square as f64 / count as f64;
        Self { lanes, targets, wide, rows, whole, deviation, cost }
    }

    /// True where all rows are alike, so that nothing is left to gain.
    pub(super) fn is_pure(&self) -> bool {
        self.deviation <= 0.0
    }

    /// `one`: a soft target of 1.
    pub(super) fn scales(&self, alpha: f64, one: f64) -> Scales {
        Scales {
            variance: 1.0 / self.deviation.max(1e-6 * one * one),
            cost: alpha / f64::from(self.cost).max(1.0),
        }
    }

    /// No split gains more.
    pub(super) fn most(&self, scales: &Scales) -> f64 {
        self.deviation * scales.variance + self.most_of_cost(scales)
    }

    fn most_of_cost(&self, scales: &Scales) -> f64 {
        f64::from(self.cost - self.rows.least) * scales.cost
    }

    /// Gains in this node.
    #[inline(always)]
    pub(super) fn judge<L: Lanes>(&self, scales: &Scales, lanes: L) -> Judge<'_, L> {
        // The variance's gain grows by at most twice the greatest square with each row that moves:
        // |q|²/n is convex, so |qL|²/nL grows by the row's square at most, and |qR|²/nR by at
        // most that of what remains.
        let most_per_count = (2 * self.rows.most_square) as f64 * scales.variance;
        // The cost's gain by at most the spread of the row's costs: the least sum on the left grows by
        // its least cost at least, that on the right falls by its greatest at most.
        let both = most_per_count + f64::from(self.rows.most_spread) * scales.cost;
        let (counts, counts_of_both) = (1.0 / most_per_count, 1.0 / both);
        Judge {
            totals: self,
            scales: *scales,
            most_of_cost: self.most_of_cost(scales),
            counts,
            counts_of_both,
            lanes,
        }
    }
}

/// Judges splits of one node.
pub(super) struct Judge<'a, L> {
    totals: &'a Totals,
    scales: Scales,
    most_of_cost: f64,
    /// So many counts must move for the variance to gain 1, at least.
    counts: f64,
    /// The same for the whole gain.
    counts_of_both: f64,
    lanes: L,
}

impl<L: Lanes> Judge<'_, L> {
    /// The gain of a split with these sums on its left side, where it is above `best`; and how
    /// many counts must move before another can be.
    #[inline(always)]
    pub(super) fn above(&self, best: f64, left: &impl Sums, left_count: u64) -> (Option<f64>, u64) {
        let totals = self.totals;
        let all_costs = &totals.lanes[totals.targets..];
        let mut squares = [[0.0_f64; 8]; 2];
        for (sums, all) in left.targets().iter().zip(&totals.wide) {
            squares = self.lanes.add_squares(squares, *sums, *all);
        }
        let [of_left, of_right] = squares.map(
            #[inline(always)]
            |s| folded(s, |a, b| a + b),
        );
        let (left_count, right_count) = (left_count as f64, (totals.rows.count - left_count) as f64);
        let parts = (of_left * right_count + of_right * left_count) / (left_count * right_count);
        let gain = (parts - totals.whole) * self.scales.variance;
        // Rounding is monotone, so this leaves out no split that would be above.
        if gain + self.most_of_cost <= best {
            return (None, self.wait(best, gain));
        }
        let gain = gain + f64::from(totals.cost - least(left.costs(), all_costs)) * self.scales.cost;
        if gain > best { (Some(gain), 0) } else { (None, counts(best - gain, self.counts_of_both)) }
    }

    /// How many counts must move before a split gains more than `best`, when the variance gains `now`.
    #[inline(always)]
    pub(super) fn wait(&self, best: f64, now: f64) -> u64 {
        counts(best - self.most_of_cost - now, self.counts)
    }
}

/// How many counts must move for this gain, so many of which make 1. Less a millionth, as these are rounded.
#[inline(always)]
fn counts(gain: f64, of_one: f64) -> u64 {
    (gain * of_one * (1.0 - 1e-6)) as u64
}

/// The least of `part` plus the least of `all - part`.
#[inline(always)]
fn least(part: &[Block], all: &[Block]) -> i32 {
    if part.is_empty() {
        return 0;
    }
    let mut least = [[i32::MAX; 8]; 2];
    for (part, all) in part.iter().zip(all) {
        least[0] = zipped(least[0], *part, i32::min);
        least[1] = zipped(least[1], zipped(*all, *part, i32::wrapping_sub), i32::min);
    }
    folded(least[0], i32::min) + folded(least[1], i32::min)
}
