//! What is wrong with the parameters of a training.

use std::fmt::Display;

use ah_model::Error;

use crate::params::{MaxRisk, Params, Size};

/// The model format refuses deeper trees.
pub const MAX_DEPTH: usize = 64;

impl Params {
    /// The first field that excludes boosted trees: a small tree or a short list per leaf is one readable tree.
    pub fn excludes_boosting(&self) -> Option<&'static str> {
        let flags = [
            (self.max_leaves.is_some(), "max_leaves"),
            (self.size == Some(Size::Smallest), "size"),
            (self.ranking.is_some(), "ranking"),
        ];
        flags.into_iter().find_map(|(is_set, field)| is_set.then_some(field))
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the first field that is out of its range.
    pub fn check(&self) -> Result<(), Error> {
        if self.logs.is_empty() {
            return wrong("logs", "at least one log", "none");
        }
        if !is_identifier(&self.heuristic_name) {
            return wrong(
                "heuristic_name",
                "a name of ASCII letters, digits and _ that begins with a letter and has at most 64 characters",
                format!("{:?}", self.heuristic_name),
            );
        }
        if let Some(ms) = self.feature_ms.values().find(|ms| !(**ms >= 0.0 && ms.is_finite())) {
            return wrong("feature_ns", "0 or more", ms * 1e6);
        }
        self.check_settings()
    }

    /// Checks each setting that is given.
    fn check_settings(&self) -> Result<(), Error> {
        Error::require_distinct("target", "target", &self.targets, |target| target.name().to_owned())?;
        let is_leaf_size = |x: f64| x > 0.0 && x.is_finite() && (x < 1.0 || x.fract() == 0.0);
        let leaf_size = "a number of inputs from 1, or a share of them above 0 and below 1";
        let is_factor = |x: f64| x >= 1.0 && x.is_finite();
        let risk = self.max_risk.and_then(MaxRisk::share);
        let share_or_none = "a share above 0 and below 1 (0.01 is 1 %), or none";
        let size = match self.size {
            Some(Size::Within(share)) => Some(share),
            _ => None,
        };
        check("max_depth", self.max_depth, "1 to 64", |depth| (1..=MAX_DEPTH).contains(&depth))?;
        check("min_samples_leaf", self.min_samples_leaf, leaf_size, is_leaf_size)?;
        check("max_leaves", self.max_leaves, "1 or more", |leaves| leaves >= 1)?;
        check("ranking", self.ranking, "1 or more", |choices| choices >= 1)?;
        check("max_choices", self.max_choices, "2 or more", |choices| choices >= 2)?;
        check("max_risk", risk, share_or_none, |share| share > 0.0 && share < 1.0)?;
        check("size", size, "a share from 0 and below 1", |share| (0.0..1.0).contains(&share))?;
        check("max_slowdown", self.max_slowdown, "1 or more (1.05 is 5 % slower)", is_factor)?;
        check("runs_per_decision", self.runs_per_decision, "1 or more", is_factor)
    }
}

/// Checks the settings of an optimization's file.
pub fn check_training(training: &Params, optimization: &str) -> Result<(), Error> {
    training.check_settings().map_err(|error| match error {
        Error::Parameter { .. } => {
            Error::Invalid(format!("optimization {optimization:?}: training: {error}"))
        }
        other => other,
    })
}

/// Checks a number, if it is given.
fn check<T: Copy + Display>(
    field: &'static str,
    given: Option<T>,
    expected: &str,
    is_right: impl Fn(T) -> bool,
) -> Result<(), Error> {
    given.filter(|value| !is_right(*value)).map_or(Ok(()), |found| wrong(field, expected, found))
}

fn wrong(field: &'static str, expected: &str, found: impl Display) -> Result<(), Error> {
    Err(Error::parameter(field, expected, found))
}

/// The name becomes a type and a crate in generated code.
fn is_identifier(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
