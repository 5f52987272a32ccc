//! What a learner is.

use std::fmt::Debug;

use ah_joint::growth::Tree;

use super::Residuals;
use crate::data::{Costs, FitRows};
use crate::tree::{FittedEnsemble, MOST_WORSE, Scores};

/// Grows the tree that people read, with all its parameters. The record of a model prints them.
pub trait Learner: Debug + Send + Sync {
    /// Learns a tree from these rows; one that stands on a cost formula learns what the formula leaves of the times (`residuals`).
    fn fit(&self, rows: &FitRows<'_>, targets: &Costs, residuals: Option<&Residuals>) -> FittedEnsemble;

    /// A leaf's scores are drawn towards its parent's, which weigh as much as this many inputs.
    fn shrinkage(&self) -> f64 {
        1.0
    }

    /// How steeply the weight of a choice falls with its log slowdown, where what a formula leaves is centred. With 10 boosted trees
    /// lose 1.04 instead of 0.77 % on seven processors.
    fn steepness(&self) -> f64 {
        3.0
    }

    /// A tree with the scores that its nodes have by these rows.
    fn with_scores(&self, tree: Tree, rows: &FitRows<'_>, targets: &Costs) -> FittedEnsemble {
        let scores = Scores::new(&tree, rows, targets, self.shrinkage(), MOST_WORSE);
        FittedEnsemble::new(tree, scores)
    }
}
