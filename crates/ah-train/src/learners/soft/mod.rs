//! `soft`: our own tree over soft targets.
//!
//! Each input's choices weigh `exp(-cost / temperature)`, so near ties count as ties and a bad
//! choice costs what it costs; a split minimises the multi-output variance of these weights
//! (the criterion of a multi-output regression tree in scikit-learn). The tree is then polished
//! against the true cost by Tree Alternating Optimisation (Carreira-Perpiñán and Tavallali,
//! "Alternating optimization of decision trees", NeurIPS 2018).
//!
//! [`samples`] makes the targets, [`gain`] judges splits, [`grow`] grows the tree (large nodes by
//! [`histogram`], what lies below by [`subtree`], whose columns [`scan`] searches and which may
//! [`look`] ahead), [`polish`] polishes it.

mod compact;
mod gain;
mod grow;
mod histogram;
mod lanes;
mod look;
mod polish;
mod samples;
mod scan;
mod subtree;

use linfa::traits::Fit;
use serde::Serialize;

use super::Dataset;
use crate::data::{Rows, Targets};
use crate::error::TrainError;
use crate::tree::GrownTree;
use crate::tree::Scores;

/// The parameters of the learner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Soft {
    /// Temperatures of the soft targets and their weights. Without any, the targets are the costs
    /// themselves: a regression tree.
    pub temperatures: Vec<(f64, f64)>,
    /// Splits on a path, at most.
    pub max_depth: usize,
    /// Inputs in a leaf, at least.
    pub min_samples_leaf: usize,
    /// A split must gain this share of its node's variance.
    pub min_gain: f64,
    /// How many inputs' worth a leaf's scores are drawn towards its parent's.
    pub kappa: f64,
    /// The weight of the cost's own gain beside the variance's.
    pub alpha: f64,
    /// How many of the best columns look one split ahead; 0: none.
    pub look: usize,
    /// In so many levels above the depth limit, where no later split can make up for a greedy one.
    pub look_levels: usize,
    /// The weight of what the children could gain.
    pub gamma: f64,
    /// Sweeps of alternating optimisation, at most.
    pub sweeps: usize,
    /// A new split must improve by this many standard errors.
    pub z: f64,
}

/// Named sets of parameters. On PyTorch's logs they differ by less than 0.0009 in slowdown,
/// except on small logs with heavy tails (mm TIMM: `Variance` 1.045, `LookAhead` and `Thorough` 1.030).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Preset {
    /// One temperature, variance alone, no look-ahead.
    Variance,
    /// Two temperatures, the cost's own gain beside the variance's, a look one split ahead in all levels.
    Thorough,
    /// The default: `Variance` with the cost's own gain, and a look one split ahead in the last levels.
    LookAhead,
    /// Two temperatures, variance alone.
    TwoTemperatures,
    /// A higher temperature and some of the cost's own gain.
    Warm,
    /// The costs themselves as targets: PyTorch's second form, which predicts a score for each
    /// context and choice.
    Regression,
}

impl Preset {
    /// Three that err differently, so that their summed scores are better than each: on PyTorch's
    /// mixed_mm logs by 0.0004 in slowdown, on the others by nothing. Bootstrapped trees lose, as each
    /// sees less.
    pub const COMMITTEE: [Self; 3] = [Self::LookAhead, Self::TwoTemperatures, Self::Warm];
}

impl Soft {
    /// The parameters of a preset.
    #[must_use]
    pub fn preset(preset: Preset, max_depth: usize, min_samples_leaf: usize) -> Self {
        let variance = Self {
            temperatures: vec![(0.05, 1.0)],
            max_depth,
            min_samples_leaf,
            min_gain: 1e-4,
            alpha: 0.0,
            look: 0,
            look_levels: 5,
            gamma: 0.5,
            kappa: 3.0,
            sweeps: 6,
            z: 0.5,
        };
        let two = vec![(0.05, 1.0), (0.5, 0.5)];
        match preset {
            Preset::Variance => variance,
            Preset::Thorough => {
                Self { temperatures: two, alpha: 0.3, look: 8, look_levels: max_depth, ..variance }
            }
            Preset::LookAhead => Self { alpha: 0.3, look: 8, ..variance },
            Preset::TwoTemperatures => Self { temperatures: two, ..variance },
            Preset::Regression => Self { temperatures: Vec::new(), ..variance },
            Preset::Warm => Self { temperatures: vec![(0.1, 1.0)], alpha: 0.15, ..variance },
        }
    }
}

impl<'a> Fit<Rows<'a>, &'a Targets, TrainError> for Soft {
    type Object = GrownTree;

    fn fit(&self, dataset: &Dataset<'a>) -> Result<GrownTree, TrainError> {
        let rows = dataset.records();
        let targets = *dataset.targets();
        Ok(grow::grow(self, rows, targets))
    }
}

impl Soft {
    /// Polishes a grown tree against the true cost on the rows that it was grown from.
    #[must_use]
    pub fn polish(&self, tree: GrownTree, rows: &Rows<'_>, targets: &Targets) -> GrownTree {
        polish::polish(self, tree, rows, targets)
    }

    /// The scores of a tree's nodes under these parameters.
    #[must_use]
    pub fn scores(&self, tree: &GrownTree, rows: &Rows<'_>, targets: &Targets) -> Scores {
        Scores::new(tree, rows, targets, self.kappa)
    }
}
