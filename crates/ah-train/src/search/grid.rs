//! The configurations to search.

use ah_types::{Criterion, LearnerKind};

use super::configuration::Configuration;
use crate::learners::{LinfaTrees, Preset, Soft};

/// The configurations to search: every growth at every depth.
pub struct Grid {
    /// Configurations at the greatest depth, the preferred one first.
    pub growths: Vec<Configuration>,
    /// Depths, ascending; 0 is one leaf, the last one is the growths' depth.
    pub depths: Vec<usize>,
}

/// [`Preset::Thorough`] takes twice as long as [`Preset::LookAhead`]. It is tried where inputs ×
/// columns are at most this.
const MAX_FOR_THOROUGH: usize = 40_000;

impl Grid {
    /// Returns the grid of a learner over these depths and leaf sizes, for a table of `inputs` × `columns`.
    pub fn new(
        kind: LearnerKind,
        criteria: &[Criterion],
        depths: &[usize],
        leaves: &[usize],
        inputs: usize,
        columns: usize,
    ) -> Self {
        let mut depths = depths.to_vec();
        depths.sort_unstable();
        depths.dedup();
        let deepest = depths.last().copied().unwrap_or(1);
        let growths = leaves.iter().flat_map(|&min_samples_leaf| {
            let soft = |preset| Configuration::Soft(Soft::preset(preset, deepest, min_samples_leaf));
            let linfa = |criterion| {
                Configuration::Linfa(LinfaTrees { criterion, max_depth: deepest, min_samples_leaf })
            };
            match kind {
                LearnerKind::Soft => vec![soft(Preset::LookAhead)],
                LearnerKind::Auto | LearnerKind::Boosted if inputs * columns <= MAX_FOR_THOROUGH => {
                    [Preset::LookAhead, Preset::Variance, Preset::Thorough].map(soft).to_vec()
                }
                LearnerKind::Auto | LearnerKind::Boosted => {
                    [Preset::LookAhead, Preset::Variance].map(soft).to_vec()
                }
                LearnerKind::Regression => vec![soft(Preset::Regression)],
                LearnerKind::Linfa => criteria.iter().copied().map(linfa).collect(),
            }
        });
        Self { growths: growths.collect(), depths }
    }
}
