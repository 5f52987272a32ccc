//! A learner with all its parameters.

use serde::Serialize;

use crate::data::{Costs, FitRows};
use crate::learners::{Boost, CostTree, LinfaTrees};
use crate::tree::{FittedEnsemble, GrownTree, Scores};

/// A learner with all its parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "learner")]
pub enum Configuration {
    /// One of our trees over soft targets.
    CostTree(CostTree),
    /// Boosted trees beside one of our trees.
    Boosted {
        /// The parameters of that tree.
        tree: CostTree,
        /// Those of the boosted ones.
        boost: Boost,
    },
    /// linfa-trees.
    Linfa(LinfaTrees),
}

/// A classifier's leaves are shrunk towards their parents', which weigh as much as this many inputs.
const CLASSIFIER_SHRINKAGE: f64 = 1.0;

impl Configuration {
    /// Returns the greatest number of splits on a path.
    pub fn max_depth(&self) -> usize {
        match self {
            Self::CostTree(s) | Self::Boosted { tree: s, .. } => s.max_depth,
            Self::Linfa(l) => l.max_depth,
        }
    }

    /// Returns this configuration with boosted trees; its own tree becomes one of ours.
    pub fn boosted(&self, boost: Boost) -> Self {
        let tree = match self {
            Self::CostTree(tree) | Self::Boosted { tree, .. } => tree.clone(),
            Self::Linfa(l) => CostTree::new(l.max_depth, l.min_samples_leaf),
        };
        Self::Boosted { tree, boost }
    }

    /// Returns whether its boosted trees are beside the tree that `single` learns.
    pub fn has_tree_of(&self, single: &Self) -> bool {
        matches!((self, single), (Self::Boosted { tree, .. }, Self::CostTree(single)) if tree == single)
    }

    pub fn min_samples_leaf(&self) -> usize {
        match self {
            Self::CostTree(s) | Self::Boosted { tree: s, .. } => s.min_samples_leaf,
            Self::Linfa(l) => l.min_samples_leaf,
        }
    }

    /// Returns the same with another depth limit.
    pub fn with_depth(&self, depth: usize) -> Self {
        let mut other = self.clone();
        match &mut other {
            Self::CostTree(s) | Self::Boosted { tree: s, .. } => s.max_depth = depth,
            Self::Linfa(l) => l.max_depth = depth,
        }
        other
    }

    /// Grows a tree, which [`finish`](Self::finish) finishes, without boosted ones.
    pub fn grow(&self, rows: &FitRows<'_>, targets: &Costs) -> GrownTree {
        match self {
            Self::CostTree(s) | Self::Boosted { tree: s, .. } => s.grow(rows, targets),
            Self::Linfa(l) => l.grow(rows, |input| targets.winner(input)),
        }
    }

    /// Cuts a tree back to the depth limit. Returns it with its scores.
    pub fn finish(&self, grown: &GrownTree, rows: &FitRows<'_>, targets: &Costs) -> (GrownTree, Scores) {
        let tree = grown.truncated(self.max_depth());
        let scores = match self {
            Self::CostTree(s) | Self::Boosted { tree: s, .. } => s.scores(&tree, rows, targets),
            Self::Linfa(_) => Scores::new(&tree, rows, targets, CLASSIFIER_SHRINKAGE),
        };
        (tree, scores)
    }

    /// Learns a tree from these rows.
    pub fn fit(&self, rows: &FitRows<'_>, targets: &Costs) -> FittedEnsemble {
        let (tree, scores) = self.finish(&self.grow(rows, targets), rows, targets);
        FittedEnsemble::new(tree, scores)
    }

    /// Learns the boosted trees, if there are any, beside a tree.
    pub fn boost(
        &self,
        tree: FittedEnsemble,
        rows: &FitRows<'_>,
        targets: impl FnOnce() -> Costs,
    ) -> FittedEnsemble {
        match self {
            Self::Boosted { boost, .. } => boost.fit(tree.tree, rows, &targets()),
            Self::CostTree(_) | Self::Linfa(_) => tree,
        }
    }
}
