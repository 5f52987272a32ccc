//! What is wrong with the parameters of a training.

use ah_types::{LearnerKind, OutsidePolicy};

use crate::error::TrainError;
use crate::params::Params;

/// The model format refuses deeper trees.
pub const MAX_DEPTH: usize = 64;
/// A fourth tree gains nothing: two further presets make the different errors that a vote needs.
const MAX_TREES: usize = 3;

impl Params {
    /// Returns the flag, if any, with which there are no boosted trees: who asks for several trees, few leaves or a short
    /// list wants others.
    pub fn excludes_boosting(&self) -> Option<&'static str> {
        let flags = [
            (self.max_leaves.is_some(), "--max-leaves"),
            (self.within.is_some(), "--within"),
            (self.ranking.is_some(), "--ranking"),
            (self.trees > 1, "--trees"),
            (self.outside == Some(OutsidePolicy::Safe), "--outside"),
        ];
        flags.into_iter().find_map(|(is_set, flag)| is_set.then_some(flag))
    }

    /// Checks the names.
    pub(super) fn check_names(&self) -> Result<(), TrainError> {
        if self.logs.is_empty() {
            return wrong("LOG", "at least one log", "none");
        }
        if !is_identifier(&self.heuristic_name) {
            return wrong(
                "--heuristic-name",
                "a name of ASCII letters, digits and _ that begins with a letter and has at most 64 characters",
                format!("{:?}", self.heuristic_name),
            );
        }
        Ok(())
    }

    /// Checks the numbers, and flags that exclude one another.
    pub(super) fn check_numbers(&self) -> Result<(), TrainError> {
        if let Some(depth) = self.max_depth.filter(|d| !(1..=MAX_DEPTH).contains(d)) {
            return wrong("--max-depth", "1 to 64", depth);
        }
        if let Some(least) = self.min_samples_leaf.filter(|x| !is_leaf_size(*x)) {
            return wrong("--min-samples-leaf", LEAF_SIZE, least);
        }
        let nrows = self.nrows.map(|n| n as usize);
        for (flag, value) in
            [("--max-leaves", self.max_leaves), ("--ranking", self.ranking), ("--nrows", nrows)]
        {
            if value == Some(0) {
                return wrong(flag, "1 or more", 0);
            }
        }
        if let Some(choices) = self.max_choices.filter(|c| *c < 2) {
            return wrong("--max-choices", "2 or more", choices);
        }
        if !(1..=MAX_TREES).contains(&self.trees) {
            return wrong("--trees", "1 to 3", self.trees);
        }
        if self.learner == Some(LearnerKind::Boosted)
            && let Some(flag) = self.excludes_boosting()
        {
            return wrong(flag, "another learner than boosted", "boosted");
        }
        if self.trees > 1 && matches!(self.learner, Some(LearnerKind::Linfa | LearnerKind::Regression)) {
            return wrong("--trees", "the learner soft or auto: only its trees vote", "another learner");
        }
        if let Some(risk) = self.max_risk.share().filter(|r| !(*r > 0.0 && *r < 1.0)) {
            return wrong("--max-risk", "a share above 0 and below 1 (0.01 is 1 %), or none", risk);
        }
        if !(self.max_slowdown >= 1.0 && self.max_slowdown.is_finite()) {
            return wrong("--max-slowdown", "1 or more (1.05 is 5 % slower)", self.max_slowdown);
        }
        let weights = &mut self.also_train.iter().map(|log| log.weight);
        if let Some(weight) = weights.find(|w| !(*w > 0.0 && w.is_finite())) {
            return wrong("--weight", "a number above 0", weight);
        }
        Ok(())
    }
}

fn wrong<T>(flag: &'static str, expected: &str, found: impl std::fmt::Display) -> Result<T, TrainError> {
    Err(TrainError::Parameter { flag, expected: expected.to_owned(), found: found.to_string() })
}

/// The values of [`is_leaf_size`].
const LEAF_SIZE: &str = "a number of inputs from 1, or a share of them above 0 and below 1";

/// Returns true for a number of inputs, and for a share of them.
fn is_leaf_size(x: f64) -> bool {
    x > 0.0 && x.is_finite() && (x < 1.0 || x.fract() == 0.0)
}

/// The name becomes a type and a crate in generated code.
fn is_identifier(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
