//! What the name of each learner stands for.

use std::sync::Arc;

use super::{CostTree, Learner, LinfaTrees};
use crate::params::LearnerKind;

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
    /// The learner of the name.
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
