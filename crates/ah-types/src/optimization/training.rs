//! How an optimization is learned: the table `[training]` of its TOML file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::OptimizationError;
use super::toml_text;

/// How `ah-train` learns an optimization: the hooks of PyTorch's trainers as fields. The TOML may omit
/// every field, and flags override it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingPolicy {
    /// The learner; `None` is [`LearnerKind::Auto`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learner: Option<LearnerKind>,
    /// The split criteria that `linfa` searches; empty means both.
    pub criterion: Vec<Criterion>,
    /// Depth limits to search.
    pub max_depth: Vec<usize>,
    /// Least numbers of inputs in a leaf to search; a number below 1 is a share of the training inputs.
    pub min_samples_leaf: Vec<f64>,
    /// The features that make up an input's shape: inputs that agree in all of them are held out
    /// together by `--test-split dims`, and calibrated together.
    pub dimensions: Vec<String>,
    /// Only inputs on which this condition holds are used for learning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_filter: Option<String>,
    /// Cells with fewer measurements than this are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_samples: Option<u32>,
    /// Cells are ignored if the standard deviation of their measurements, divided by the mean, is above
    /// this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_relative_deviation: Option<f64>,
    /// The share of the inputs that is held out for the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_share: Option<f64>,
    /// The share of the training part that a validation fold holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_share: Option<f64>,
    /// With `--ranking`, every leaf ranks these choices.
    pub always_included: Vec<String>,
    /// PyTorch's rule for unsafe leaves: a leaf declines if its best choice was more than this many times
    /// slower than the fallback on one of its inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsafe_leaf: Option<f64>,
    /// PyTorch's rule for low confidence: the least leaf probability is chosen so that at most this share of
    /// the validation inputs is decided and wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_wrong_share: Option<f64>,
}

/// The learners of `ah-train` by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LearnerKind {
    /// Trees over soft targets, with the preset that cross-validation prefers.
    Auto,
    /// Trees over soft targets, with the default preset.
    Soft,
    /// Boosted trees beside one of these, whatever the size of the log.
    Boosted,
    /// Classification of the winner by linfa-trees.
    Linfa,
    /// Regression trees over the costs themselves.
    Regression,
}

/// The measures of impurity that linfa-trees can minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Criterion {
    /// Gini impurity.
    Gini,
    /// Entropy.
    Entropy,
}

impl TrainingPolicy {
    /// Reads a training policy from a TOML file of its own.
    ///
    /// # Errors
    /// [`OptimizationError`] with the file and, for bad TOML, line and column.
    pub fn read(path: &Path) -> Result<Self, OptimizationError> {
        Self::parse(&toml_text::read(path)?, path)
    }

    /// Parses a training policy; messages call the text `path`.
    ///
    /// # Errors
    /// [`OptimizationError`] with line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self, OptimizationError> {
        toml::from_str(text).map_err(|e| OptimizationError::toml(path, &e))
    }
}
