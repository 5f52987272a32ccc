//! How an optimization is learned: the table `[training]` of its TOML file.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::named::named;
use super::objective::Objective;
use super::target::Target;

/// How `ah-train` learns an optimization. The TOML may omit every field, and flags override it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingPolicy {
    /// The learner; `None` is [`LearnerKind::Auto`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learner: Option<LearnerKind>,
    /// What it is learned for; `None` is [`Objective::Geomean`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// Depth limits to search; empty: ah-train's own.
    pub max_depth: Vec<usize>,
    /// Least numbers of inputs in a leaf to search; a number below 1 is a share of the training inputs. Empty:
    /// ah-train's own.
    pub min_samples_leaf: Vec<f64>,
    /// The features that make up an input's shape: inputs that agree in all of them are held out
    /// together by `--test-split dims`, and calibrated together.
    pub dimensions: Vec<String>,
    /// Only inputs on which this condition holds are used for learning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_filter: Option<String>,
    /// The share of the inputs that is held out for the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_share: Option<f64>,
    /// With `--ranking`, every leaf ranks these choices.
    pub always_included: Vec<String>,
    /// The languages and programs that ask the model; empty: Rust.
    #[serde(rename = "target", skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// The milliseconds that computing a feature takes, by name; they replace those of the log.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_ms: BTreeMap<String, f64>,
}

/// The learners of `ah-train` by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "String")]
pub enum LearnerKind {
    /// One of our trees over soft targets, with boosted trees beside it where they pay.
    Auto,
    /// One of our trees over soft targets.
    CostTree,
    /// Boosted trees beside one of ours, whatever the size of the log.
    Boosted,
    /// Classification of the winner by linfa-trees.
    Linfa,
}

impl LearnerKind {
    /// All learners by name.
    pub const NAMES: [(&str, Self); 4] = [
        ("auto", Self::Auto),
        ("cost_tree", Self::CostTree),
        ("boosted", Self::Boosted),
        ("linfa", Self::Linfa),
    ];
}

impl FromStr for LearnerKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "soft" => Err("the learner \"soft\" is now \"cost_tree\"".to_owned()),
            _ => named("a learner", &Self::NAMES, name),
        }
    }
}

impl TryFrom<String> for LearnerKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}
