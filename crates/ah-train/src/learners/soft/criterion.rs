//! How a split is judged: by how much it lowers the multi-output variance of the soft targets
//! and, weighted with `alpha`, the cost of one choice for all.
//!
//! `gain = (|qL|²/nL + |qR|²/nR − |q|²/n) / SSE + alpha · (R − RL − RR) / R`, where q is the sum
//! of the soft targets of a node's rows, SSE their squared deviation from their mean and R the
//! least total cost of a single choice. Sums are whole numbers, so they are exact in any order;
//! only the gain is a float, and it is a function of them, so equal partitions have equal gains
//! in every column.

use super::costs::Costs;
use super::weights::{ONE, Weights};
use super::{Rows, Soft};
use crate::targets::Targets;

/// The best split of one column in a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub gain: f64,
    pub column: usize,
    /// Neighbouring codes inside the node, left and right of the split.
    pub codes: (u16, u16),
}

/// The targets of the rows in the form that the search wants.
pub(super) struct Criterion<'a> {
    rows: &'a Rows<'a>,
    min_samples_leaf: usize,
    weights: Weights,
    costs: Option<Costs>,
}

/// The sums of a node's rows.
pub(super) struct Totals {
    /// Sum of the soft targets, by output.
    sum: Vec<u64>,
    /// `|sum|²`
    square: u128,
    /// Rows, each as often as it counts.
    count: u64,
    /// The squared deviation from the mean, in units of `ONE` squared.
    deviation: f64,
    /// Sums of the costs: what every choice costs, and by choice what it costs beside that.
    costs: (i64, Vec<i32>),
}

/// What gains are divided by.
pub(super) struct Scales {
    variance: f64,
    cost: f64,
}

impl Totals {
    /// True where all rows are alike, so that nothing is left to gain.
    pub(super) fn is_pure(&self) -> bool {
        self.deviation <= 0.0
    }

    pub(super) fn scales(&self, alpha: f64) -> Scales {
        Scales {
            variance: 1.0 / self.deviation.max(1e-6 * ONE * ONE),
            cost: alpha / (self.least_cost() as f64).max(1.0),
        }
    }

    /// The cost of the best single choice.
    fn least_cost(&self) -> i64 {
        self.costs.0 + i64::from(self.costs.1.iter().copied().min().unwrap_or(0))
    }

    /// True where squares of sums fit into 64 bits: `|part|² <= |whole|² <= (greatest sum) · (sum of all)`.
    fn is_small(&self) -> bool {
        let greatest = self.sum.iter().max().copied().unwrap_or(0);
        let all: u64 = self.sum.iter().sum();
        u128::from(greatest) * u128::from(all) < 1 << 62
    }
}

/// Whole numbers for sums of squares: 64 bits where they fit, twice as fast as 128.
trait Square: Copy {
    const ZERO: Self;
    fn product(a: u64, b: u64) -> Self;
    fn add(self, other: Self) -> Self;
    /// `all + left - 2 * product`, which is not negative.
    fn right(all: Self, left: Self, product: Self) -> Self;
    fn from_wide(x: u128) -> Self;
    fn float(self) -> f64;
}

macro_rules! square {
    ($type:ty) => {
        #[allow(clippy::cast_lossless)]
        impl Square for $type {
            const ZERO: Self = 0;
            #[inline]
            fn product(a: u64, b: u64) -> Self {
                a as Self * b as Self
            }
            #[inline]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn right(all: Self, left: Self, product: Self) -> Self {
                all + left - 2 * product
            }
            #[inline]
            fn from_wide(x: u128) -> Self {
                x as Self
            }
            #[inline]
            fn float(self) -> f64 {
                self as f64
            }
        }
    };
}
square!(u64);
square!(u128);

impl<'a> Criterion<'a> {
    pub(super) fn new(soft: &Soft, rows: &'a Rows<'a>, targets: &Targets) -> Self {
        Self {
            rows,
            min_samples_leaf: soft.min_samples_leaf,
            weights: Weights::new(targets, rows.inputs, &soft.temperatures),
            costs: (soft.alpha > 0.0).then(|| Costs::new(targets, rows.inputs)),
        }
    }

    /// The code of a row in a column.
    #[inline]
    pub(super) fn code(&self, column: usize, row: u32) -> u16 {
        self.rows.columns.all()[column].codes()[self.rows.inputs[row as usize] as usize]
    }

    pub(super) fn totals(&self, members: &[u32]) -> Totals {
        let mut sum = vec![0_u64; self.weights.outputs];
        let (mut squares, mut count) = (0_u128, 0_u64);
        for &row in members {
            let times = self.weights.count(row);
            count += u64::from(times);
            for &(output, weight) in self.weights.row(row) {
                sum[output as usize] += u64::from(weight);
                squares += u128::from(weight) * u128::from(weight / times);
            }
        }
        let square: u128 = sum.iter().map(|&s| u128::from(s) * u128::from(s)).sum();
        // count * squares - |sum|² is exact and never negative (Cauchy-Schwarz).
        let deviation = (u128::from(count) * squares).saturating_sub(square) as f64 / count as f64;
        let mut costs = (0, Vec::new());
        if let Some(c) = &self.costs {
            costs.1.resize(c.choices, 0);
            for &row in members {
                costs.0 += c.common(row);
                c.row(row).iter().for_each(|&(choice, cost)| costs.1[choice as usize] += cost);
            }
        }
        Totals { sum, square, count, deviation, costs }
    }

    /// The best split of one column, whose codes order the rows.
    pub(super) fn best_split(
        &self,
        totals: &Totals,
        scales: &Scales,
        column: usize,
        order: &[u32],
    ) -> Option<Candidate> {
        let (first, last) = (self.code(column, *order.first()?), self.code(column, *order.last()?));
        if first == last || order.len() < 2 * self.min_samples_leaf {
            return None;
        }
        if totals.is_small() {
            self.scan::<u64>(totals, scales, column, order)
        } else {
            self.scan::<u128>(totals, scales, column, order)
        }
    }

    /// Moves rows from right to left in the order of their codes.
    fn scan<S: Square>(
        &self,
        totals: &Totals,
        scales: &Scales,
        column: usize,
        order: &[u32],
    ) -> Option<Candidate> {
        let n = order.len();
        let mut left = vec![0_u64; totals.sum.len()];
        let mut left_costs = vec![0_i32; totals.costs.1.len()];
        let mut left_common = 0_i64;
        // |left|² and the product of left and the whole node's sum.
        let (mut left_square, mut product) = (S::ZERO, S::ZERO);
        let square = S::from_wide(totals.square);
        let whole = square.float() / totals.count as f64;
        let whole_cost = totals.least_cost();
        let mut left_count = 0_u64;
        let mut best: Option<Candidate> = None;
        let codes = self.rows.columns.all()[column].codes();
        let code = |row: u32| codes[self.rows.inputs[row as usize] as usize];
        let mut here = code(order[0]);
        for (count, pair) in order.windows(2).enumerate().map(|(i, p)| (i + 1, p)) {
            let row = pair[0];
            left_count += u64::from(self.weights.count(row));
            for &(output, weight) in self.weights.row(row) {
                let (output, weight) = (output as usize, u64::from(weight));
                left_square = left_square.add(S::product(weight, 2 * left[output] + weight));
                product = product.add(S::product(weight, totals.sum[output]));
                left[output] += weight;
            }
            if let Some(costs) = &self.costs {
                left_common += costs.common(row);
                costs.row(row).iter().for_each(|&(choice, cost)| left_costs[choice as usize] += cost);
            }
            let next = code(pair[1]);
            if next == here {
                continue;
            }
            let codes = (here, next);
            here = next;
            if count < self.min_samples_leaf || n - count < self.min_samples_leaf {
                continue;
            }
            let right_square = S::right(square, left_square, product).float();
            let right_count = totals.count - left_count;
            let variance =
                left_square.float() / left_count as f64 + right_square / right_count as f64 - whole;
            let mut gain = variance * scales.variance;
            if self.costs.is_some() {
                let (least_left, least_right) = least(&left_costs, &totals.costs.1);
                let left = left_common + i64::from(least_left);
                let right = totals.costs.0 - left_common + i64::from(least_right);
                gain += (whole_cost - left - right) as f64 * scales.cost;
            }
            if best.is_none_or(|b| gain > b.gain) {
                best = Some(Candidate { gain, column, codes });
            }
        }
        best
    }
}

/// The least of `part` and of `all - part`.
#[inline]
fn least(part: &[i32], all: &[i32]) -> (i32, i32) {
    let mut least = (i32::MAX, i32::MAX);
    for (&part, &all) in part.iter().zip(all) {
        least.0 = least.0.min(part);
        least.1 = least.1.min(all - part);
    }
    least
}
