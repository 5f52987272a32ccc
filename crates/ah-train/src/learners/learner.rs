//! What a learner is, and what the name of each stands for.

use std::fmt::Debug;
use std::sync::Arc;

use ah_joint::growth::Tree;

use super::{CostTree, LinfaTrees, Residuals};
use crate::data::{Costs, FitRows};
use crate::params::LearnerKind;
use crate::tree::{FittedEnsemble, MOST_WORSE, Scores};

/// Grows the tree that people read, with all its parameters.
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

    /// Fewest inputs in a leaf.
    fn min_samples_leaf(&self) -> usize;

    /// Returns the same learner with at most this many splits on a path.
    fn with_depth(&self, depth: usize) -> Arc<dyn Learner>;

    /// Returns its name and parameters, for the record of the model.
    fn parameters(&self) -> serde_json::Value;

    /// Returns a tree with the scores that its nodes have by these rows.
    fn with_scores(&self, tree: Tree, rows: &FitRows<'_>, targets: &Costs) -> FittedEnsemble {
        let scores = Scores::new(&tree, rows, targets, self.shrinkage(), MOST_WORSE);
        FittedEnsemble::new(tree, scores)
    }
}

/// Whether boosted trees stand beside the tree that people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boosting {
    /// Where they pay.
    WhereItPays,
    /// Never.
    Never,
    /// Always.
    Always,
}

/// What a learner's name stands for.
#[derive(Clone, Copy, Debug)]
pub struct LearnerRow {
    /// Makes it, with at most so many splits on a path and at least so many inputs in a leaf.
    pub new: fn(usize, usize) -> Arc<dyn Learner>,
    /// Whether boosted trees stand beside its tree.
    pub boosting: Boosting,
    /// Whether trees on a cost formula are compared with it.
    pub has_formulas: bool,
}

impl LearnerKind {
    /// Returns what the name stands for.
    pub fn row(self) -> LearnerRow {
        let row = |new, boosting, has_formulas| LearnerRow { new, boosting, has_formulas };
        match self {
            Self::Auto => row(CostTree::learner, Boosting::WhereItPays, true),
            Self::CostTree => row(CostTree::learner, Boosting::Never, true),
            Self::Boosted => row(CostTree::learner, Boosting::Always, true),
            Self::Linfa => row(LinfaTrees::learner, Boosting::Never, false),
        }
    }
}
