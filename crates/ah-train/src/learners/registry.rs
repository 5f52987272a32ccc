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
    /// Makes it, from the most splits on a path and the least inputs in a leaf.
    pub new: fn(usize, usize) -> Arc<dyn Learner>,
    /// Whether boosted trees stand beside its tree.
    pub boosting: Boosting,
    /// Whether other trees of ours are compared with it: one on a cost formula, and one for few inputs.
    pub has_variants: bool,
}

impl LearnerKind {
    /// The learner of the name.
    pub fn row(self) -> LearnerRow {
        let cost_tree = |boosting| LearnerRow {
            new: |max_depth, min_samples_leaf| Arc::new(CostTree { max_depth, min_samples_leaf }),
            boosting,
            has_variants: true,
        };
        match self {
            Self::Auto => cost_tree(Boosting::WhereItPays),
            Self::CostTree => cost_tree(Boosting::Never),
            Self::Boosted => cost_tree(Boosting::Always),
            Self::Linfa => LearnerRow {
                new: |max_depth, min_samples_leaf| Arc::new(LinfaTrees { max_depth, min_samples_leaf }),
                boosting: Boosting::Never,
                has_variants: false,
            },
        }
    }
}
