//! Gradient boosting: many trees, each fitted to the errors of the trees before it (Friedman, "Greedy function approximation: a
//! gradient boosting machine", 2001).

use ah_types::random;
use rayon::prelude::*;
use serde::Serialize;

use crate::errors::Errors;
use crate::growth::{Codes, Limits, Tree, grow, part};

/// The parameters of boosted trees.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boosting {
    /// The number of trees.
    pub trees: u64,
    /// Most splits on a path.
    pub max_depth: usize,
    /// Fewest rows in a leaf.
    pub min_samples_leaf: usize,
    /// Most leaves.
    pub max_leaves: usize,
    /// The share of a leaf's mean error that its values take back.
    pub rate: f64,
    /// The share of the columns that grow a tree.
    pub column_share: f64,
    /// What a gain by a column counts that no earlier tree tests (Peter and others, "Cost efficient gradient boosting", 2017).
    pub new_column: f64,
    /// The share of the rows that grow a tree.
    pub row_share: f64,
    /// A leaf's values are drawn towards 0 as by rows of this weight.
    pub shrinkage: f64,
}

/// One of the trees.
#[derive(Clone, Debug)]
pub struct BoostedTree {
    /// Its splits.
    pub splits: Tree,
    /// Node after node, a value for each output.
    pub values: Vec<f64>,
}

impl Boosting {
    /// Fits trees to these errors, and leaves in them what the trees do not explain. Row i has the codes of `inputs[i]`. `rounded` rounds
    /// each value. Trees of the same `seed` grow from the same parts of the rows and columns.
    pub fn fit(
        &self,
        mut columns: Vec<Codes<'_>>,
        inputs: &[u32],
        errors: &mut Errors,
        seed: u64,
        rounded: impl Fn(f64) -> f64,
    ) -> Vec<BoostedTree> {
        columns.iter_mut().for_each(|column| column.worth = self.new_column);
        // Without columns, as where every feature is constant, no tree can split.
        let trees = if columns.is_empty() { 0 } else { self.trees };
        let limits = Limits { depth: self.max_depth, leaves: self.max_leaves, rows: self.min_samples_leaf };
        let tree = |number: u64| {
            errors.centre();
            let draw = seed.wrapping_add(number);
            let kept = part(columns.len(), self.column_share, random::mix(draw, 0));
            let picked = part(inputs.len(), self.row_share, random::mix(draw, 1));
            let picked_inputs: Vec<u32> = picked.iter().map(|&row| inputs[row as usize]).collect();
            let splits = grow(&columns, kept, &picked_inputs, &errors.sample(&picked), &limits);
            let leaf = |&input: &u32| splits.leaf(|column| columns[column].codes[input as usize]);
            let leaves: Vec<usize> = inputs.par_iter().with_min_len(1024).map(leaf).collect();
            let means = errors.means(&leaves, splits.nodes.len(), self.shrinkage);
            let values: Vec<f64> = means.into_iter().map(|mean| rounded(mean * self.rate)).collect();
            errors.subtract(&leaves, &values);
            for node in splits.nodes.iter().filter(|node| node.left > 0) {
                columns[node.column as usize].worth = 1.0;
            }
            BoostedTree { splits, values }
        };
        let trees = (0..trees).map(tree).collect();
        errors.centre();
        trees
    }
}
