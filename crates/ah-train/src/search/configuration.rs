//! A learner with all its parameters.

use ah_joint::growth::Tree;
use serde::Serialize;

use crate::data::{Costs, FitRows};
use crate::learners::{Boost, CostTree, LinfaTrees, ResidualTree};
use crate::params::LearnerKind;
use crate::plan::TrainPlan;
use crate::tree::{FittedEnsemble, MOST_WORSE, Scores};

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
        /// Whether they stand on a cost formula.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        on_formula: bool,
    },
    /// A small tree on a cost formula.
    Formula(ResidualTree),
    /// linfa-trees.
    Linfa(LinfaTrees),
}

/// A classifier's leaves are shrunk towards their parents', which weigh as much as this many inputs.
const CLASSIFIER_SHRINKAGE: f64 = 1.0;

impl Configuration {
    /// Returns the configuration of a plan, without boosted trees.
    pub fn new(plan: &TrainPlan) -> Self {
        let (max_depth, min_samples_leaf) = (plan.max_depth, plan.min_samples_leaf);
        match plan.learner {
            LearnerKind::Auto | LearnerKind::CostTree | LearnerKind::Boosted => {
                Self::CostTree(CostTree::new(max_depth, min_samples_leaf))
            }
            LearnerKind::Linfa => Self::Linfa(LinfaTrees { max_depth, min_samples_leaf }),
        }
    }

    pub fn min_samples_leaf(&self) -> usize {
        match self {
            Self::CostTree(s) | Self::Boosted { tree: s, .. } => s.min_samples_leaf,
            Self::Linfa(l) => l.min_samples_leaf,
            Self::Formula(tree) => tree.min_samples_leaf,
        }
    }

    /// Returns the same on a cost formula.
    pub fn on_formula(self) -> Self {
        match self {
            Self::Boosted { tree, boost, .. } => Self::Boosted { tree, boost, on_formula: true },
            other => other,
        }
    }

    /// Returns how steeply the weight of a choice falls with its log slowdown, where what a formula leaves is centred. One tree has few
    /// leaves for the choices near the best: seven processors lose 1.14 instead of 1.24 %. Boosted trees lose 1.04 instead of 0.77 % with 10.
    pub fn steepness(&self) -> f64 {
        if matches!(self, Self::Formula(_)) { 10.0 } else { 3.0 }
    }

    /// Returns whether the model stands on a cost formula.
    pub fn is_on_formula(&self) -> bool {
        matches!(self, Self::Formula(_) | Self::Boosted { on_formula: true, .. })
    }

    /// Returns the same with another depth limit.
    pub fn with_depth(&self, depth: usize) -> Self {
        let mut other = self.clone();
        match &mut other {
            Self::CostTree(s) | Self::Boosted { tree: s, .. } => s.max_depth = depth,
            Self::Linfa(l) => l.max_depth = depth,
            Self::Formula(tree) => tree.max_leaves = 1 << depth.min(16),
        }
        other
    }

    /// Learns a tree from these rows, without boosted ones.
    pub fn fit(&self, rows: &FitRows<'_>, targets: &Costs) -> FittedEnsemble {
        let tree = match self {
            Self::CostTree(s) | Self::Boosted { tree: s, .. } => s.grow(rows, targets),
            Self::Linfa(l) => l.grow(rows, |input| targets.winner(input)),
            Self::Formula(_) => Tree::default(),
        };
        self.with_scores(tree, rows, targets)
    }

    /// Returns a tree with the scores of its nodes.
    pub fn with_scores(&self, tree: Tree, rows: &FitRows<'_>, targets: &Costs) -> FittedEnsemble {
        let shrinkage = match self {
            Self::CostTree(s) | Self::Boosted { tree: s, .. } => s.shrinkage,
            Self::Linfa(_) | Self::Formula(_) => CLASSIFIER_SHRINKAGE,
        };
        let scores = Scores::new(&tree, rows, targets, shrinkage, MOST_WORSE);
        FittedEnsemble::new(tree, scores)
    }
}
