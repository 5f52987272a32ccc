//! The configurations to search.

use crate::params::LearnerKind;

use super::configuration::Configuration;
use crate::learners::{CostTree, Criterion, LinfaTrees};

/// The configurations to search: every growth at every depth.
pub struct Grid {
    /// Configurations at the greatest depth, the preferred one first.
    pub growths: Vec<Configuration>,
    /// Depths, ascending; 0 is one leaf, the last one is the growths' depth.
    pub depths: Vec<usize>,
}

impl Grid {
    /// Returns the grid of a learner over these depths, ascending, and leaf sizes.
    pub fn new(kind: LearnerKind, depths: &[usize], leaves: &[usize]) -> Self {
        let max_depth = depths.last().copied().unwrap_or(1);
        let growths = leaves.iter().flat_map(|&min_samples_leaf| match kind {
            LearnerKind::Auto | LearnerKind::CostTree | LearnerKind::Boosted => {
                vec![Configuration::CostTree(CostTree::new(max_depth, min_samples_leaf))]
            }
            LearnerKind::Linfa => {
                let with = |criterion| LinfaTrees { criterion, max_depth, min_samples_leaf };
                [Criterion::Gini, Criterion::Entropy].map(with).map(Configuration::Linfa).to_vec()
            }
        });
        Self { growths: growths.collect(), depths: depths.to_vec() }
    }
}
