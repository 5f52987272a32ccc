//! The parameters of the learner `soft`.

use serde::Serialize;

/// The parameters of the learner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Soft {
    /// (temperature, weight) of each set of soft targets. Empty: the costs themselves are the
    /// targets, which makes a regression tree.
    pub temperatures: Vec<(f64, f64)>,
    /// Most splits on a path.
    pub max_depth: usize,
    /// Fewest inputs in a leaf.
    pub min_samples_leaf: usize,
    /// A split must gain at least this share of its node's variance.
    pub min_gain: f64,
    /// Shrinkage: a leaf's scores are drawn towards its parent's as if the parent's were measured
    /// on this many further inputs.
    pub kappa: f64,
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

/// Named sets of parameters. On PyTorch's logs their slowdowns differ by less than 0.0009, except
/// on small logs with heavy tails (mm TIMM: `Variance` 1.045, `Thorough` and `LookAhead` 1.030).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Preset {
    /// One temperature, variance alone, no look-ahead (recipe A of the study).
    Variance,
    /// Two temperatures, variance and cost, look-ahead in all levels (recipe B).
    Thorough,
    /// One temperature, variance and cost, look-ahead in the last levels: the default.
    LookAhead,
    /// Two temperatures, variance alone, no look-ahead.
    TwoTemperatures,
    /// A higher temperature, variance and a little of the cost, no look-ahead.
    Warm,
    /// The costs themselves as targets: PyTorch's second form, which predicts a score for each
    /// context and choice.
    Regression,
}

impl Preset {
    /// All presets by the names that people read.
    pub const NAMED: [(&str, Self); 6] = [
        ("look-ahead", Self::LookAhead),
        ("variance", Self::Variance),
        ("thorough", Self::Thorough),
        ("two-temperatures", Self::TwoTemperatures),
        ("warm", Self::Warm),
        ("regression", Self::Regression),
    ];

    /// Three presets that err differently. Their summed scores beat each alone by 0.0004 in
    /// slowdown on PyTorch's mixed_mm logs, and by nothing on its others. Bootstrapped trees lose:
    /// each sees fewer inputs.
    pub const COMMITTEE: [Self; 3] = [Self::LookAhead, Self::TwoTemperatures, Self::Warm];
}

impl Soft {
    /// Returns the parameters of a preset.
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
            Preset::Warm => Self { temperatures: vec![(0.1, 1.0)], alpha: 0.15, ..variance },
            Preset::Regression => Self { temperatures: Vec::new(), ..variance },
        }
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
