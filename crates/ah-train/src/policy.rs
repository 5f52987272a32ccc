//! The hooks of PyTorch's trainers, as a trait with default methods. An optimization's TOML
//! (`[training]`) implements it; who needs code implements it and calls
//! [`train_with`](crate::train::train_with).
//!
//! | PyTorch | here |
//! | --- | --- |
//! | `get_default_config` | [`Policy::default_choice`] |
//! | `is_unsafe_leaf` | [`Policy::is_unsafe_leaf`] |
//! | `get_grid_search_values` | [`Policy::criteria`], [`Policy::max_depths`], [`Policy::min_samples_leaves`] |
//! | `get_allowed_wrong_prediction_pct` | [`Policy::allowed_wrong_share`] |
//! | `get_test_and_val_size` | [`Policy::test_share`], [`Policy::folds`] |
//! | `add_new_features` | [`Policy::derived`] |
//! | `ranking_always_included_choices` | [`Policy::always_included`] |
//! | `filter_df` | [`Policy::keeps`], [`Policy::cell_filter`] |

use ah_types::{Context, Derived, Leaf, optimization::TrainingPolicy};

/// How an optimization is learned, where flags do not say otherwise.
pub trait Policy: Sync {
    /// The learner.
    fn learner(&self) -> Option<LearnerKind> {
        None
    }

    /// What linfa-trees is to minimise.
    fn criteria(&self) -> Vec<Criterion> {
        vec![Criterion::Gini, Criterion::Entropy]
    }

    /// Depth limits to search.
    fn max_depths(&self) -> Vec<usize> {
        vec![2, 4, 6, 8]
    }

    /// Least numbers of inputs in a leaf to search, when so many inputs are learned from.
    fn min_samples_leaves(&self, inputs: usize) -> Vec<usize> {
        // On PyTorch's logs 2, 3 and 5 differ by less than 0.0003; 8 helps where inputs are few.
        match inputs {
            0..32 => vec![1],
            32..500 => vec![3, 8],
            _ => vec![3],
        }
    }

    /// What to do without a heuristic; `None`: the optimization's fallback.
    fn default_choice(&self) -> Option<String> {
        None
    }

    /// True where the leaf must decline.
    fn is_unsafe_leaf(&self, leaf: &Leaf) -> bool {
        let _ = leaf;
        false
    }

    /// The least confidence of a leaf is set so that at most this share of the validation inputs
    /// is decided and wrong; `None`: leaves of any confidence decide.
    fn allowed_wrong_share(&self) -> Option<f64> {
        None
    }

    /// The share of the inputs that is held out for the test.
    fn test_share(&self) -> f64 {
        0.2
    }

    /// Folds of the training part in the search.
    fn folds(&self) -> usize {
        5
    }

    /// Further derived features, behind the optimization's.
    fn derived(&self) -> Vec<Derived> {
        Vec::new()
    }

    /// Choices that stand in every leaf of a ranking.
    fn always_included(&self) -> Vec<String> {
        Vec::new()
    }

    /// True for inputs to learn from.
    fn keeps(&self, context: &Context) -> bool {
        let _ = context;
        true
    }

    /// Which cells count.
    fn cell_filter(&self) -> CellFilter {
        CellFilter::default()
    }
}

/// The fields of an optimization's TOML. Its `row_filter` is an expression, which
/// `data::task` applies.
impl Policy for TrainingPolicy {
    fn learner(&self) -> Option<LearnerKind> {
        self.learner.as_deref().and_then(LearnerKind::from_name)
    }

    fn criteria(&self) -> Vec<Criterion> {
        let named: Vec<_> = self.criterion.iter().filter_map(|c| Criterion::from_name(c)).collect();
        if named.is_empty() { DefaultPolicy.criteria() } else { named }
    }

    fn max_depths(&self) -> Vec<usize> {
        if self.max_depth.is_empty() { DefaultPolicy.max_depths() } else { self.max_depth.clone() }
    }

    fn min_samples_leaves(&self, inputs: usize) -> Vec<usize> {
        if self.min_samples_leaf.is_empty() {
            return DefaultPolicy.min_samples_leaves(inputs);
        }
        let count = |&x: &f64| if x < 1.0 { (x * inputs as f64).ceil() } else { x }.max(1.0) as usize;
        self.min_samples_leaf.iter().map(count).collect()
    }

    fn is_unsafe_leaf(&self, leaf: &Leaf) -> bool {
        let best = leaf.ranking.first();
        self.unsafe_leaf.is_some_and(|limit| best.is_some_and(|r| r.worst_over_fallback > limit))
    }

    fn allowed_wrong_share(&self) -> Option<f64> {
        self.allowed_wrong_share
    }

    fn test_share(&self) -> f64 {
        self.test_share.unwrap_or(DefaultPolicy.test_share())
    }

    fn folds(&self) -> usize {
        self.validation_share
            .map_or(DefaultPolicy.folds(), |share| (1.0 / share).round().clamp(2.0, 20.0) as usize)
    }

    fn always_included(&self) -> Vec<String> {
        self.always_included.clone()
    }

    fn cell_filter(&self) -> CellFilter {
        CellFilter { min_samples: self.min_samples, max_relative_deviation: self.max_relative_deviation }
    }
}

/// All defaults.
pub struct DefaultPolicy;

impl Policy for DefaultPolicy {}

/// The learners by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LearnerKind {
    /// `Soft` with the preset that cross-validation prefers.
    Auto,
    /// [`Soft`](crate::parts::Soft).
    Soft,
    /// [`LinfaTrees`](crate::parts::LinfaTrees).
    Linfa,
    /// `Soft` over the scores themselves: a regression tree.
    Regression,
}

impl LearnerKind {
    /// The learner of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "soft" => Some(Self::Soft),
            "linfa" => Some(Self::Linfa),
            "regression" => Some(Self::Regression),
            _ => None,
        }
    }
}

/// How a split is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Criterion {
    /// Gini impurity.
    Gini,
    /// Entropy.
    Entropy,
}

impl Criterion {
    /// The criterion of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "gini" => Some(Self::Gini),
            "entropy" => Some(Self::Entropy),
            _ => None,
        }
    }
}

/// Which cells count: the policies of PyTorch's trainers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellFilter {
    /// Measurements, at least.
    pub min_samples: Option<u32>,
    /// Standard deviation over mean, at most.
    pub max_relative_deviation: Option<f64>,
}

impl CellFilter {
    pub(crate) fn keeps(&self, feedback: &[f64]) -> bool {
        if self.min_samples.is_some_and(|least| feedback.len() < least as usize) {
            return false;
        }
        let Some(most) = self.max_relative_deviation else { return true };
        let n = feedback.len() as f64;
        let mean = feedback.iter().sum::<f64>() / n;
        if feedback.len() < 2 || !mean.is_finite() {
            return true;
        }
        let variance = feedback.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        variance.sqrt() / mean <= most
    }
}
