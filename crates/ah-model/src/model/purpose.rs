//! What a model was learned for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::objective::Objective;
use crate::target::Target;

/// What a model was learned for: evaluation and generated code use the same settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purpose {
    /// The mean that its training lowered.
    pub objective: Objective,
    /// The targets whose price of a decision its training counted; empty: any.
    pub targets: Vec<Target>,
    /// The time that a program takes to compute a feature, in milliseconds, by the feature's name. Features without an entry are
    /// at hand.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_ms: BTreeMap<String, f64>,
    /// The time of one small decision where the choices were measured, in nanoseconds, by language.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub decision_ns: BTreeMap<String, f64>,
    /// The runs that a program does with one answer, if more than one: each pays that share of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_per_decision: Option<f64>,
    /// Whether the device runs while the host decides, so that a decision costs only what it takes longer than the choice.
    pub overlaps: bool,
    /// A choice that takes more than this many times the fallback's time counts as slower: at least 1.
    pub max_slowdown: f64,
    /// The number of choices that the logs have, where training kept some of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_of: Option<usize>,
    /// The share of the inputs' choices that were timed, where training estimated the other times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<f64>,
}

impl Purpose {
    /// The limit of [`max_slowdown`](Self::max_slowdown) where nobody names one: slower by more than 5 %.
    pub const MAX_SLOWDOWN: f64 = 1.05;
}

/// For any target and the geometric mean.
impl Default for Purpose {
    fn default() -> Self {
        Self {
            objective: Objective::default(),
            targets: Vec::new(),
            feature_ms: BTreeMap::new(),
            decision_ns: BTreeMap::new(),
            runs_per_decision: None,
            overlaps: false,
            max_slowdown: Self::MAX_SLOWDOWN,
            kept_of: None,
            timed: None,
        }
    }
}
