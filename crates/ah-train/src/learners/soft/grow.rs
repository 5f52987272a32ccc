//! Growing: every column keeps the rows of each node in the order of its codes; a split
//! partitions all columns stably, so nothing is sorted twice and a level costs rows × columns.

use rayon::prelude::*;

use super::weights::Weights;
use super::{Rows, Soft};
use crate::columns::Column;
use crate::grown::Grown;
use crate::targets::Targets;

/// Below this many rows × columns a node is searched on one thread: handing it over costs more.
const PARALLEL: usize = 100_000;

/// A candidate split of a node.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    gain: f64,
    column: usize,
    /// Neighbouring codes inside the node, left and right of the split.
    codes: (u16, u16),
}

struct Node {
    id: u32,
    start: usize,
    end: usize,
    depth: usize,
}

pub(super) fn grow(soft: &Soft, rows: &Rows<'_>, targets: &Targets) -> Grown {
    let weights = Weights::new(targets, rows.inputs, &soft.temperatures);
    let columns = rows.columns.all();
    let mut orders: Vec<Vec<u32>> = columns.par_iter().map(|c| sorted_rows(c, rows.inputs)).collect();
    let mut tree = Grown::leaf();
    let mut goes_left = vec![false; rows.inputs.len()];
    let mut todo = vec![Node { id: 0, start: 0, end: rows.inputs.len(), depth: 0 }];
    while let Some(node) = todo.pop() {
        let n = node.end - node.start;
        if node.depth >= soft.max_depth || n < 2 * soft.min_samples_leaf || columns.is_empty() {
            continue;
        }
        let members = &orders[0][node.start..node.end];
        let Some(totals) = Totals::new(&weights, members) else { continue };
        let search = |(column, order): (usize, &Vec<u32>)| {
            totals.best_split(soft, rows, &weights, column, &order[node.start..node.end])
        };
        let best = if n * columns.len() >= PARALLEL {
            orders.par_iter().enumerate().filter_map(search).reduce_with(better)
        } else {
            orders.iter().enumerate().filter_map(search).reduce(better)
        };
        let Some(best) = best.filter(|b| b.gain >= soft.min_gain) else { continue };

        let (limit, test) = columns[best.column].test(best.codes.0, best.codes.1);
        let codes = columns[best.column].codes();
        for &row in &orders[0][node.start..node.end] {
            goes_left[row as usize] = codes[rows.inputs[row as usize] as usize] <= limit;
        }
        let partition = |order: &mut Vec<u32>| stable_partition(&mut order[node.start..node.end], &goes_left);
        let middle = if n * columns.len() >= PARALLEL {
            orders.par_iter_mut().map(partition).max()
        } else {
            orders.iter_mut().map(partition).max()
        };
        let middle = node.start + middle.unwrap_or_default();
        let (left, right) = tree.split(node.id, best.column as u32, limit, test);
        let depth = node.depth + 1;
        todo.push(Node { id: right, start: middle, end: node.end, depth });
        todo.push(Node { id: left, start: node.start, end: middle, depth });
    }
    tree
}

/// The better of two candidates; of equals the first column's.
fn better(a: Candidate, b: Candidate) -> Candidate {
    if b.gain > a.gain || (b.gain == a.gain && b.column < a.column) { b } else { a }
}

/// The rows in the order of a column's codes, equal codes in the order of rows.
fn sorted_rows(column: &Column, inputs: &[u32]) -> Vec<u32> {
    let code = |input: u32| column.codes()[input as usize] as usize;
    let mut starts = vec![0_u32; column.levels() + 1];
    for &input in inputs {
        starts[code(input) + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut order = vec![0; inputs.len()];
    for (row, &input) in (0_u32..).zip(inputs) {
        let place = &mut starts[code(input)];
        order[*place as usize] = row;
        *place += 1;
    }
    order
}

/// Moves the rows that go left to the front; both sides keep their order. Returns their number.
fn stable_partition(order: &mut [u32], goes_left: &[bool]) -> usize {
    let mut right = Vec::with_capacity(order.len());
    let mut left = 0;
    for i in 0..order.len() {
        let row = order[i];
        if goes_left[row as usize] {
            order[left] = row;
            left += 1;
        } else {
            right.push(row);
        }
    }
    order[left..].copy_from_slice(&right);
    left
}

/// The sums of a node, and of each of its rows what the search needs of it.
struct Totals {
    /// Sum of the weights, by output.
    sum: Vec<u64>,
    /// `|sum|^2`
    square: u128,
    /// The node's sum of squared deviations from its mean, in units of `ONE` squared.
    deviation: f64,
}

impl Totals {
    /// `None` for a node whose rows are all alike: nothing is left to gain.
    fn new(weights: &Weights, members: &[u32]) -> Option<Self> {
        let mut sum = vec![0_u64; weights.outputs];
        let mut squares = 0_u128;
        for &row in members {
            for &(output, weight) in weights.row(row) {
                sum[output as usize] += u64::from(weight);
                squares += u128::from(weight) * u128::from(weight);
            }
        }
        let square: u128 = sum.iter().map(|&s| u128::from(s) * u128::from(s)).sum();
        let n = members.len() as u128;
        // n * squares - |sum|^2 is exact and never negative (Cauchy-Schwarz).
        let deviation = (n * squares).saturating_sub(square) as f64 / n as f64;
        (deviation > 0.0).then_some(Self { sum, square, deviation })
    }

    /// The best split of one column: rows move from right to left in the order of their codes.
    ///
    /// |left|^2 and |right|^2 are kept up to date in whole numbers; only the gain is a float, and
    /// it is a function of them, so equal partitions have equal gains in every column.
    fn best_split(
        &self,
        soft: &Soft,
        rows: &Rows<'_>,
        weights: &Weights,
        column: usize,
        order: &[u32],
    ) -> Option<Candidate> {
        let codes = rows.columns.all()[column].codes();
        let code = |row: u32| codes[rows.inputs[row as usize] as usize];
        let (first, last) = (code(*order.first()?), code(*order.last()?));
        if first == last {
            return None;
        }
        let n = order.len();
        let mut left = vec![0_u64; self.sum.len()];
        // |left|^2 and the product of left and the whole node's sum.
        let (mut left_square, mut product) = (0_u128, 0_u128);
        let whole = self.square as f64 / n as f64;
        let scale = 1.0 / self.deviation.max(1e-6 * super::weights::ONE * super::weights::ONE);
        let mut best: Option<Candidate> = None;
        let mut here = first;
        for (count, pair) in order.windows(2).enumerate().map(|(i, p)| (i + 1, p)) {
            for &(output, weight) in weights.row(pair[0]) {
                let (output, weight) = (output as usize, u64::from(weight));
                left_square += u128::from(weight * (2 * left[output] + weight));
                product += u128::from(weight) * u128::from(self.sum[output]);
                left[output] += weight;
            }
            let next = code(pair[1]);
            if next == here {
                continue;
            }
            let codes = (here, next);
            here = next;
            if count < soft.min_samples_leaf || n - count < soft.min_samples_leaf {
                continue;
            }
            let right_square = self.square + left_square - 2 * product;
            let gain = (left_square as f64 / count as f64 + right_square as f64 / (n - count) as f64 - whole)
                * scale;
            if best.is_none_or(|b| gain > b.gain) {
                best = Some(Candidate { gain, column, codes });
            }
        }
        best
    }
}
