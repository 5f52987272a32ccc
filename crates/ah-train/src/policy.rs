//! How an optimization is learned: the hooks of PyTorch's trainers, as a trait with default methods.
//!
//! The `[training]` table of an optimization's TOML implements it. A program that needs code
//! implements it itself and calls [`train_with`](crate::train_with).
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

use ah_types::{Context, Criterion, DerivedFeature, Leaf, LearnerKind, Optimization, TrainingPolicy};

use crate::error::TrainError;
use crate::params_check::MAX_DEPTH;

/// How an optimization is learned. Flags override it.
pub trait Policy: Sync {
    /// Returns the learner.
    fn learner(&self) -> Option<LearnerKind> {
        None
    }

    /// Returns the criteria that linfa-trees may minimise; the search tries each.
    fn criteria(&self) -> Vec<Criterion> {
        vec![Criterion::Gini, Criterion::Entropy]
    }

    /// Returns the depth limits to search.
    fn max_depths(&self) -> Vec<usize> {
        vec![2, 4, 6, 8]
    }

    /// Returns the least numbers of inputs in a leaf to search, when learning from `inputs` inputs.
    fn min_samples_leaves(&self, inputs: usize) -> Vec<usize> {
        // On PyTorch's logs 2, 3 and 5 differ by less than 0.0003; 8 helps where inputs are few.
        match inputs {
            0..32 => vec![1],
            32..500 => vec![3, 8],
            _ => vec![3],
        }
    }

    /// Returns the fallback; `None`: the optimization's.
    fn default_choice(&self) -> Option<String> {
        None
    }

    /// Returns true if the leaf must decline.
    fn is_unsafe_leaf(&self, leaf: &Leaf) -> bool {
        let _ = leaf;
        false
    }

    /// Leaves of low confidence decline, so that at most this share of the validation inputs is
    /// decided wrongly; `None`: leaves of any confidence decide.
    fn allowed_wrong_share(&self) -> Option<f64> {
        None
    }

    /// Returns true if there may be boosted trees. A policy that names parameters of trees wants those.
    fn allows_boosting(&self) -> bool {
        true
    }

    /// Returns the share of the inputs that is held out as the test part.
    fn test_share(&self) -> f64 {
        0.2
    }

    /// Returns the number of folds that the search cuts the training part into.
    fn folds(&self) -> usize {
        5
    }

    /// Derived features to append to the optimization's.
    fn derived(&self) -> Vec<DerivedFeature> {
        Vec::new()
    }

    /// With `--ranking`, the choices that every leaf ranks among the first.
    fn always_included(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns true for the inputs to learn from.
    fn keeps(&self, context: &Context) -> bool {
        let _ = context;
        true
    }

    /// Returns the cells to learn from.
    fn cell_filter(&self) -> CellFilter {
        CellFilter::default()
    }
}

/// The fields of the TOML, except `row_filter`: `data::task` applies that expression.
impl Policy for TrainingPolicy {
    fn learner(&self) -> Option<LearnerKind> {
        self.learner
    }

    fn criteria(&self) -> Vec<Criterion> {
        if self.criterion.is_empty() { DefaultPolicy.criteria() } else { self.criterion.clone() }
    }

    fn max_depths(&self) -> Vec<usize> {
        if self.max_depth.is_empty() { DefaultPolicy.max_depths() } else { self.max_depth.clone() }
    }

    fn min_samples_leaves(&self, inputs: usize) -> Vec<usize> {
        if self.min_samples_leaf.is_empty() {
            return DefaultPolicy.min_samples_leaves(inputs);
        }
        self.min_samples_leaf.iter().map(|x| leaf_size(*x, inputs)).collect()
    }

    fn allows_boosting(&self) -> bool {
        let names_none = self.max_depth.is_empty() && self.min_samples_leaf.is_empty();
        names_none && self.allowed_wrong_share.is_none()
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

/// Returns the number of inputs that a leaf needs: `least`, or this share of `inputs` if it is below 1.
pub(crate) fn leaf_size(least: f64, inputs: usize) -> usize {
    if least < 1.0 { (least * inputs as f64).ceil() } else { least }.max(1.0) as usize
}

/// The policy of an optimization without a `[training]` table.
struct DefaultPolicy;

impl Policy for DefaultPolicy {}

/// Checks the fields of a `[training]` table that their types leave open.
pub fn check(optimization: &Optimization) -> Result<(), TrainError> {
    let policy = &optimization.training;
    let is_share = |x: Option<f64>| x.is_none_or(|x| x > 0.0 && x < 1.0);
    let shares = [policy.test_share, policy.validation_share, policy.allowed_wrong_share];
    let rules = [
        (
            shares.into_iter().all(is_share),
            "test_share, validation_share and allowed_wrong_share: expected shares above 0 and below 1",
        ),
        (
            policy.max_depth.iter().all(|d| (1..=MAX_DEPTH).contains(d)),
            "max_depth: expected numbers from 1 to 64",
        ),
        (
            policy.min_samples_leaf.iter().all(|l| *l > 0.0 && l.is_finite()),
            "min_samples_leaf: expected numbers above 0",
        ),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        None => Ok(()),
        Some((_, reason)) => Err(TrainError::Expression {
            optimization: optimization.name.clone(),
            what: "training",
            reason: reason.to_owned(),
        }),
    }
}

/// The cells to learn from; PyTorch's trainers filter by the same two rules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellFilter {
    /// The least number of measurements.
    pub min_samples: Option<u32>,
    /// The greatest standard deviation over the mean.
    pub max_relative_deviation: Option<f64>,
}

impl CellFilter {
    /// Returns true if these measurements of one cell pass.
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
