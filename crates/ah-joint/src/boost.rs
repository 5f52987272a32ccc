//! Boosted regression trees over rows of an input and a choice: one number to predict.

use ah_types::random;
use rayon::prelude::*;

use crate::growth::{Codes, Limits, Sample, Tree, grow, part};
use crate::rows::Coded;

/// A leaf's value is drawn towards 0 as by rows of this weight.
const SHRINKAGE: f64 = 5.0;

/// The parameters of boosted regression trees.
#[derive(Clone, Copy, Debug)]
pub struct Boosting {
    /// The number of trees.
    pub trees: u64,
    /// Most leaves of a tree.
    pub leaves: usize,
    /// Fewest rows in a leaf.
    pub min_rows: usize,
    /// The share of a leaf's mean residual that its value takes back.
    pub rate: f64,
    /// The share of the rows that grow a tree.
    pub row_share: f64,
    /// The share of the columns that grow a tree.
    pub column_share: f64,
}

/// Learned trees, each with the values of its nodes.
#[derive(Clone, Debug, Default)]
pub struct BoostedTrees(Vec<(Tree, Vec<f64>)>);

/// Learned trees, and what they make of the rows that they learned from.
pub struct Boosted {
    pub trees: BoostedTrees,
    /// By row, the sum of the trees' values.
    pub predicted: Vec<f64>,
    /// By row, what is left of the target.
    pub residuals: Vec<f64>,
}

impl Boosting {
    /// Learns the differences of these targets within each group of rows.
    pub fn fit(&self, rows: &Coded, targets: &[f64], weights: &[u32], seed: u64) -> Boosted {
        let (mut residuals, mut predicted) = (targets.to_vec(), vec![0.0; targets.len()]);
        let mut trees = Vec::new();
        for number in 0..self.trees {
            centre(&mut residuals, &rows.groups, weights);
            let (tree, values) = self.tree(rows, &residuals, weights, random::mix(seed, number));
            let sums = residuals.par_iter_mut().zip(&mut predicted).enumerate().with_min_len(4096);
            sums.for_each(|(row, (residual, predicted))| {
                let value = values[tree.leaf(|column| rows.codes[column][row])];
                *residual -= value;
                *predicted += value;
            });
            trees.push((tree, values));
        }
        centre(&mut residuals, &rows.groups, weights);
        Boosted { trees: BoostedTrees(trees), predicted, residuals }
    }

    /// Grows a tree from a random part of the rows and columns. Returns it with the value of each node.
    fn tree(&self, rows: &Coded, residuals: &[f64], weights: &[u32], seed: u64) -> (Tree, Vec<f64>) {
        let picked = part(residuals.len(), self.row_share, seed);
        let kept = part(rows.codes.len(), self.column_share, random::mix(seed, 1));
        let codes = |(at, codes)| Codes { codes, levels: rows.coding.levels(at), worth: 1.0 };
        let columns: Vec<Codes<'_>> = rows.codes.iter().map(Vec::as_slice).enumerate().map(codes).collect();
        let numbers: Vec<f32> = picked.iter().map(|&row| residuals[row as usize] as f32).collect();
        let picked_weights: Vec<u32> = picked.iter().map(|&row| weights[row as usize]).collect();
        let limits = Limits {
            depth: usize::MAX,
            leaves: self.leaves,
            rows: self.min_rows,
            gain: 0.0,
            shrinkage: SHRINKAGE,
        };
        let tree = grow(&columns, kept, &picked, &Sample::new(1, &numbers, &picked_weights), &limits);
        let mut sums = vec![(0.0, 0.0); tree.nodes.len()];
        for &row in &picked {
            let (sum, weight) = &mut sums[tree.leaf(|column| rows.codes[column][row as usize])];
            *sum += residuals[row as usize] * f64::from(weights[row as usize]);
            *weight += f64::from(weights[row as usize]);
        }
        let values = sums.into_iter().map(|(sum, weight)| self.rate * sum / (weight + SHRINKAGE)).collect();
        (tree, values)
    }
}

impl BoostedTrees {
    /// Returns the predictions for rows of codes. The outer loop is over the trees, as one tree fits into the cache and all do not.
    pub fn predict(&self, rows: &[Vec<u16>]) -> Vec<f64> {
        let mut sums = vec![0.0; rows.len()];
        for (tree, values) in &self.0 {
            for (sum, codes) in sums.iter_mut().zip(rows) {
                *sum += values[tree.leaf(|column| codes[column])];
            }
        }
        sums
    }

    /// Returns how much the splits on each of these columns lower the squared error.
    pub fn gains(&self, columns: usize) -> Vec<f64> {
        let mut gains = vec![0.0; columns];
        let nodes = self.0.iter().flat_map(|(tree, _)| &tree.nodes);
        nodes.for_each(|node| gains[node.column as usize] += node.gain);
        gains
    }
}

/// Subtracts from each group its mean residual.
fn centre(residuals: &mut [f64], groups: &[u32], weights: &[u32]) {
    let mut start = 0;
    for group in groups.chunk_by(|a, b| a == b) {
        let range = start..start + group.len();
        let (residuals, weights) = (&mut residuals[range.clone()], &weights[range.clone()]);
        let sum: f64 =
            residuals.iter().zip(weights).map(|(residual, &weight)| residual * f64::from(weight)).sum();
        let mean = sum / weights.iter().map(|&weight| f64::from(weight)).sum::<f64>().max(1.0);
        residuals.iter_mut().for_each(|residual| *residual -= mean);
        start = range.end;
    }
}
