//! The parameters of the learner `cost_tree`.

use serde::Serialize;

use crate::data::costs::TEMPERATURE;

/// The parameters of the learner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostTree {
    /// Most splits on a path.
    pub max_depth: usize,
    /// Fewest inputs in a leaf.
    pub min_samples_leaf: usize,
    /// The soft target of a choice is `exp(-log slowdown / temperature)`.
    pub temperature: f64,
    /// A split must gain at least this share of its node's variance.
    pub min_gain: f64,
    /// Shrinkage: a leaf's scores are drawn towards its parent's as if the parent's were measured
    /// on this many further inputs.
    pub shrinkage: f64,
    /// Weight of the cost's gain beside the variance's.
    pub alpha: f64,
    /// Number of columns that look one split ahead, the best first; 0: no look-ahead.
    pub look: usize,
    /// Look-ahead is limited to this many levels above the depth limit: no later split can correct
    /// a greedy one there.
    pub look_levels: usize,
    /// Weight of the children's gain in a look-ahead.
    pub gamma: f64,
    /// Most sweeps of alternating optimisation.
    pub sweeps: usize,
    /// Alternating optimisation takes a new split only if it improves by this many standard errors.
    pub z: f64,
}

impl CostTree {
    /// Returns the parameters of every tree that people read: variance and cost, look-ahead in the last levels.
    pub fn new(max_depth: usize, min_samples_leaf: usize) -> Self {
        Self {
            max_depth,
            min_samples_leaf,
            temperature: TEMPERATURE,
            min_gain: 1e-4,
            shrinkage: 3.0,
            alpha: 0.3,
            look: 8,
            look_levels: 5,
            gamma: 0.5,
            sweeps: 6,
            z: 0.5,
        }
    }

    /// Returns the parameters of trees that are grown in numbers: variance alone, no look-ahead. Booster trees fit the
    /// errors of those before them, which have no cost of their own.
    pub fn greedy(max_depth: usize, min_samples_leaf: usize) -> Self {
        Self { alpha: 0.0, look: 0, ..Self::new(max_depth, min_samples_leaf) }
    }

    /// Returns whether a node of this depth looks one split ahead. A node just above the depth limit does
    /// not, as its children cannot be split.
    pub(super) fn looks_ahead(&self, depth: usize) -> bool {
        let levels_left = self.max_depth.saturating_sub(depth);
        self.look > 0 && (2..=self.look_levels).contains(&levels_left)
    }

    /// Returns whether a node of this depth with this many rows must stay a leaf.
    pub(super) fn must_be_leaf(&self, depth: usize, rows: usize) -> bool {
        depth >= self.max_depth || rows < 2 * self.min_samples_leaf.max(1)
    }
}
