//! The teacher: many small trees, each fitted to the errors of the trees before it (Friedman, "Greedy
//! function approximation: a gradient boosting machine", 2001). A leaf has one value for each choice.
//!
//! It predicts soft targets. Its model would be slow and large, so it only teaches.

use super::fit_data::FitData;
use super::grow::{grow_fit, subtree_rows};
use super::lookup::Lookup;
use super::parameters::{Preset, Soft};
use super::samples::Samples;
use crate::data::{COST_LIMIT, COST_ONE, Columns, Rows, Targets, random};

/// Inputs from which on a teacher has more trees.
const LARGE: usize = 20_000;
/// Trees of a teacher, and the share of a leaf's mean that counts: of few inputs, and of many. With 60 trees instead of 30,
/// a student of the forward convolutions loses 1.0457 instead of 1.0483, one of backward data 1.0156 instead of 1.0174.
const TREES: [(u64, f64); 2] = [(30, 0.15), (60, 0.1)];
/// On the forward convolutions 25 trees of depth 10, 12, 14 and 16 lose 1.0428, 1.0394, 1.0412 and 1.0431.
const DEPTH: usize = 12;
const MIN_SAMPLES_LEAF: usize = 3;
/// A leaf's values are drawn towards 0 as by this many further inputs.
const SHRINKAGE: f64 = 1.0;
/// Cost at which a soft target falls to 1/e. With 0.1 the teacher costs 40 more on the forward convolutions, with 0.3
/// and 0.5 7 more (1e-4 of log slowdown).
const TEMPERATURE: f64 = 0.2;
/// Share of the columns, and of the rows, that grow a tree.
const COLUMN_SHARE: f64 = 0.4;
const ROW_SHARE: f64 = 0.8;

/// A sum of trees.
pub(super) struct Teacher {
    choices: usize,
    /// The mean of each choice.
    base: Vec<f64>,
    /// Trees, each with its values: node after node, one for each choice.
    trees: Vec<(Lookup, Vec<f64>)>,
}

impl Teacher {
    /// Learns from these rows.
    pub(super) fn new(rows: &Rows<'_>, targets: &Targets) -> Self {
        let choices = targets.choices();
        let soft = Soft::preset(Preset::Variance, DEPTH, MIN_SAMPLES_LEAF);
        let weights: Vec<u32> = rows.inputs.iter().map(|&input| targets.weight(input)).collect();
        let target = |cost: u32| (-f64::from(cost) / COST_ONE / TEMPERATURE).exp();
        let row = |&input: &u32| targets.of(input).iter().map(|c| (c.choice.0, target(c.cost))).collect();
        let mut left: Vec<Vec<(u32, f64)>> = rows.inputs.iter().map(row).collect();
        let base = means(&left, &weights, |_| 0, (1, choices), 0.0);
        let mut teacher = Self { choices, base, trees: Vec::new() };
        subtract(&mut left, |_| 0, &teacher.base, choices);
        let codes = rows.columns.by_row(rows.inputs);
        let (trees, rate) = TREES[usize::from(rows.inputs.len() >= LARGE)];
        for number in 0..trees {
            let tree = grow_part(&soft, rows, &left, &weights, choices, number);
            let leaves: Vec<usize> =
                codes.chunks_exact(rows.columns.all().len()).map(|c| tree.leaf(c)).collect();
            let leaf = |row: usize| leaves[row];
            let mut values = means(&left, &weights, leaf, (tree.nodes(), choices), SHRINKAGE);
            values.iter_mut().for_each(|value| *value *= rate);
            subtract(&mut left, leaf, &values, choices);
            teacher.trees.push((tree, values));
        }
        teacher
    }

    /// Returns its trees.
    pub(super) fn trees(&self) -> impl Iterator<Item = &Lookup> {
        self.trees.iter().map(|(tree, _)| tree)
    }

    /// For each pair (row, input): returns the cost that it predicts for each choice that was measured on the input, if
    /// the features are those of the row.
    pub(super) fn costs(
        &self,
        columns: &Columns,
        pairs: &[(u32, u32)],
        targets: &Targets,
    ) -> Vec<Vec<(u32, f64)>> {
        let codes = columns.by_row(&Vec::from_iter(pairs.iter().map(|pair| pair.0)));
        let offered =
            |input: u32| targets.of(input).iter().map(|c| (c.choice.0, self.base[c.choice.index()]));
        let mut costs: Vec<Vec<(u32, f64)>> = pairs.iter().map(|pair| offered(pair.1).collect()).collect();
        // Tree by tree, so that one is in the cache.
        for (tree, values) in &self.trees {
            for (codes, costs) in codes.chunks_exact(columns.all().len()).zip(&mut costs) {
                let values = &values[tree.leaf(codes) * self.choices..][..self.choices];
                costs.iter_mut().for_each(|(choice, target)| *target += values[*choice as usize]);
            }
        }
        for costs in &mut costs {
            let most = costs.iter().map(|c| c.1).fold(f64::NEG_INFINITY, f64::max);
            // The greatest stands for a target of 1. To divide by it instead blurs the promise: on the forward
            // convolutions the teacher's own threshold then loses 1.0650 instead of 1.0629.
            let cost = |target: f64| -(1.0 + target - most).max(1e-4).ln() * TEMPERATURE;
            costs.iter_mut().for_each(|(_, target)| *target = cost(*target).min(COST_LIMIT));
        }
        costs
    }
}

/// Grows a tree from a random part of the rows and columns.
fn grow_part(
    soft: &Soft,
    rows: &Rows<'_>,
    left: &[Vec<(u32, f64)>],
    weights: &[u32],
    choices: usize,
    number: u64,
) -> Lookup {
    let all = rows.columns.all().len();
    let is_kept = |column: usize| random::fraction(random::mix(number, 0), column as u64) < COLUMN_SHARE;
    let mut kept: Vec<usize> = (0..all).filter(|&column| is_kept(column)).collect();
    if kept.is_empty() {
        kept = (0..all).collect();
    }
    let columns = rows.columns.part(|at, _| kept.contains(&at));
    let is_picked = |row: &usize| random::fraction(random::mix(number, 1), *row as u64) < ROW_SHARE;
    let picked: Vec<usize> = (0..rows.inputs.len()).filter(is_picked).collect();
    let inputs: Vec<u32> = picked.iter().map(|&row| rows.inputs[row]).collect();
    let values: Vec<&[(u32, f64)]> = picked.iter().map(|&row| &left[row][..]).collect();
    let weights: Vec<u32> = picked.iter().map(|&row| weights[row]).collect();
    let part = Rows { columns: &columns, inputs: &inputs };
    let samples = Samples::from_values(choices, &values, &weights);
    let tree = grow_fit(&FitData::with_samples(soft, &part, samples), subtree_rows(&part));
    Lookup::new(&tree, &kept)
}

/// Returns the weighted mean value of each choice in each of `nodes` nodes. `node` is the node that a
/// row reaches.
fn means(
    left: &[Vec<(u32, f64)>],
    weights: &[u32],
    node: impl Fn(usize) -> usize,
    (nodes, choices): (usize, usize),
    shrinkage: f64,
) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); nodes * choices];
    for (row, (cells, &weight)) in left.iter().zip(weights).enumerate() {
        for &(choice, value) in cells {
            let (sum, count) = &mut sums[node(row) * choices + choice as usize];
            *sum += value * f64::from(weight);
            *count += f64::from(weight);
        }
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / (count + shrinkage) } else { 0.0 }).collect()
}

/// Subtracts from each row the values of the node that it reaches.
fn subtract(left: &mut [Vec<(u32, f64)>], node: impl Fn(usize) -> usize, values: &[f64], choices: usize) {
    for (row, cells) in left.iter_mut().enumerate() {
        for (choice, value) in cells {
            *value -= values[node(row) * choices + *choice as usize];
        }
    }
}
