//! Boosted regression trees over many rows of few columns: one output, codes of eight bits, sums of whole numbers.
//!
//! The trees of the choices (`learners`) have an output for each choice and a row for each input. Here a row is an input and
//! a choice: up to a million rows, and a single output.

use rayon::prelude::*;

use crate::grow::{RegressionTree, Sample, grow};
use ah_types::random;

/// A residual of 1.
pub const ONE: f64 = (1_u32 << 16) as f64;

/// The parameters of boosted regression trees.
#[derive(Clone, Copy, Debug)]
pub struct Boosting {
    /// The number of trees.
    pub trees: u64,
    /// Most leaves of a tree.
    pub leaves: usize,
    /// Fewest rows in a leaf.
    pub min_rows: u32,
    /// The share of a leaf's mean residual that its value takes back.
    pub rate: f64,
    /// The share of the rows that grow a tree.
    pub row_share: f64,
    /// The share of the columns that grow a tree.
    pub column_share: f64,
}

/// Learned trees.
#[derive(Clone, Debug, Default)]
pub struct BoostedTrees {
    trees: Vec<RegressionTree>,
}

impl Boosting {
    /// Learns trees. `residuals` are left with the part of the targets that the trees do not predict.
    pub fn fit(&self, sample: &Sample<'_>, seed: u64) -> (BoostedTrees, Vec<i32>) {
        let mut residuals = sample.targets.to_vec();
        let mut trees = Vec::new();
        for number in 0..self.trees {
            centre(&mut residuals, sample);
            let seed = random::mix(seed, number);
            let picked = |row: &u32| random::fraction(seed, u64::from(*row)) < self.row_share;
            let rows: Vec<u32> = (0..residuals.len() as u32).filter(picked).collect();
            let stream = random::mix(seed, 1);
            let kept = |column: &usize| random::fraction(stream, *column as u64) < self.column_share;
            let mut columns: Vec<usize> = (0..sample.width).filter(kept).collect();
            if columns.is_empty() {
                columns = (0..sample.width).collect();
            }
            let part = Sample { targets: &residuals, ..*sample };
            let tree = grow(&part, rows, &columns, (self.leaves, self.min_rows), self.rate);
            residuals.par_chunks_mut(4096).enumerate().for_each(|(chunk, residuals)| {
                for (at, residual) in residuals.iter_mut().enumerate() {
                    let row = chunk * 4096 + at;
                    *residual -= tree.value(&sample.codes[row * sample.width..][..sample.width]);
                }
            });
            trees.push(tree);
        }
        centre(&mut residuals, sample);
        (BoostedTrees { trees }, residuals)
    }
}

impl BoostedTrees {
    /// Returns the prediction for a row's codes.
    pub fn predict(&self, codes: &[u8]) -> f64 {
        self.trees.iter().map(|tree| i64::from(tree.value(codes))).sum::<i64>() as f64 / ONE
    }

    /// Returns how much the splits on each column lower the squared error.
    pub fn gains(&self, width: usize) -> Vec<f64> {
        let mut gains = vec![0.0; width];
        self.trees.iter().for_each(|tree| tree.add_gains(&mut gains));
        gains
    }
}

/// Subtracts from each group its mean residual.
fn centre(residuals: &mut [i32], sample: &Sample<'_>) {
    let mut start = 0;
    for group in sample.groups.chunk_by(|a, b| a == b) {
        let range = start..start + group.len();
        let weights = &sample.weights[range.clone()];
        let residuals = &mut residuals[range];
        let sum: i64 = residuals.iter().zip(weights).map(|(r, w)| i64::from(*r) * i64::from(*w)).sum();
        let count: i64 = weights.iter().map(|w| i64::from(*w)).sum();
        let mean = sum / count.max(1);
        residuals.iter_mut().for_each(|residual| *residual -= mean as i32);
        start += group.len();
    }
}
