//! How a split is judged: by how much it lowers the multi-output variance of the soft targets
//! and, weighted with `alpha`, the cost of one choice for all.
//!
//! `gain = (|qL|²/nL + |qR|²/nR − |q|²/n) / SSE + alpha · (R − RL − RR) / R`, where q is the sum
//! of the soft targets of a node's rows, SSE their squared deviation from their mean and R the
//! least total cost of a single choice. Sums are whole numbers, so they are exact in any order;
//! only the gain is a float, and it is a function of them, so equal partitions have equal gains in every column.

use super::weights::{ONE, Weights};
use super::{Rows, Soft};
use crate::targets::{COST_LIMIT, COST_ONE, Targets};

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
    /// Sum of the costs, by choice; empty without costs.
    costs: Vec<u64>,
}

/// What gains are divided by.
pub(super) struct Scales {
    variance: f64,
    cost: f64,
}

/// Dense costs: rows × choices.
struct Costs {
    choices: usize,
    costs: Vec<u32>,
}

impl Costs {
    /// A choice that was not measured costs the median of those that were.
    fn new(targets: &Targets, inputs: &[u32]) -> Self {
        let choices = targets.choices();
        let mut costs = Vec::with_capacity(inputs.len() * choices);
        let mut sorted = Vec::new();
        for &input in inputs {
            sorted.clear();
            sorted.extend(targets.of(input).iter().map(|c| c.cost));
            sorted.sort_unstable();
            let median = sorted.get(sorted.len() / 2).copied().unwrap_or((COST_LIMIT * COST_ONE) as u32);
            let start = costs.len();
            costs.resize(start + choices, median);
            for cost in targets.of(input) {
                costs[start + cost.choice.index()] = cost.cost;
            }
        }
        Self { choices, costs }
    }

    fn row(&self, row: u32) -> &[u32] {
        &self.costs[row as usize * self.choices..][..self.choices]
    }
}

impl Totals {
    /// True where all rows are alike, so that nothing is left to gain.
    pub(super) fn is_pure(&self) -> bool {
        self.deviation <= 0.0
    }

    pub(super) fn scales(&self, alpha: f64) -> Scales {
        let least = self.costs.iter().min().map_or(0.0, |&c| c as f64);
        Scales {
            variance: 1.0 / self.deviation.max(1e-6 * ONE * ONE),
            cost: alpha / least.max(1e-6 * COST_ONE),
        }
    }
}

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
        let mut costs = Vec::new();
        if let Some(c) = &self.costs {
            costs.resize(c.choices, 0);
            for &row in members {
                let times = u64::from(self.weights.count(row));
                costs.iter_mut().zip(c.row(row)).for_each(|(sum, &cost)| *sum += times * u64::from(cost));
            }
        }
        Totals { sum, square, count, deviation, costs }
    }

    /// The best split of one column: rows move from right to left in the order of their codes.
    pub(super) fn best_split(
        &self,
        totals: &Totals,
        scales: &Scales,
        column: usize,
        order: &[u32],
    ) -> Option<Candidate> {
        let n = order.len();
        let (first, last) = (self.code(column, *order.first()?), self.code(column, *order.last()?));
        if first == last || n < 2 * self.min_samples_leaf {
            return None;
        }
        let mut left = vec![0_u64; totals.sum.len()];
        let mut left_costs = vec![0_u64; totals.costs.len()];
        // |left|² and the product of left and the whole node's sum.
        let (mut left_square, mut product) = (0_u128, 0_u128);
        let whole = totals.square as f64 / totals.count as f64;
        let mut left_count = 0_u64;
        let whole_cost = totals.costs.iter().min().map_or(0.0, |&c| c as f64);
        let mut best: Option<Candidate> = None;
        let mut here = first;
        for (count, pair) in order.windows(2).enumerate().map(|(i, p)| (i + 1, p)) {
            let times = u64::from(self.weights.count(pair[0]));
            left_count += times;
            for &(output, weight) in self.weights.row(pair[0]) {
                let (output, weight) = (output as usize, u64::from(weight));
                left_square += u128::from(weight) * u128::from(2 * left[output] + weight);
                product += u128::from(weight) * u128::from(totals.sum[output]);
                left[output] += weight;
            }
            if let Some(costs) = &self.costs {
                let row = left_costs.iter_mut().zip(costs.row(pair[0]));
                row.for_each(|(sum, &cost)| *sum += times * u64::from(cost));
            }
            let next = self.code(column, pair[1]);
            if next == here {
                continue;
            }
            let codes = (here, next);
            here = next;
            if count < self.min_samples_leaf || n - count < self.min_samples_leaf {
                continue;
            }
            let right_square = totals.square + left_square - 2 * product;
            let right_count = totals.count - left_count;
            let variance =
                left_square as f64 / left_count as f64 + right_square as f64 / right_count as f64 - whole;
            let mut gain = variance * scales.variance;
            if self.costs.is_some() {
                let (mut least_left, mut least_right) = (u64::MAX, u64::MAX);
                for (&part, &all) in left_costs.iter().zip(&totals.costs) {
                    least_left = least_left.min(part);
                    least_right = least_right.min(all - part);
                }
                gain += (whole_cost - least_left as f64 - least_right as f64) * scales.cost;
            }
            if best.is_none_or(|b| gain > b.gain) {
                best = Some(Candidate { gain, column, codes });
            }
        }
        best
    }
}
