//! The parameters of one training: raw as they come from the command line, then checked, once.

use std::path::PathBuf;

use serde::Serialize;

use crate::data::SplitBy;
use crate::error::TrainError;
use crate::judge::DEFAULT_MAX_SLOWDOWN;
use crate::policy::LearnerKind;
use crate::promise::PromiseMode;

/// A further log with a name, for tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLog {
    /// For people.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// As given; [`check`](Self::check) makes [`Params`] of it.
#[derive(Clone, Debug)]
pub struct RawParams {
    /// The logs, merged in this order.
    pub logs: Vec<PathBuf>,
    /// The heuristic's name.
    pub heuristic_name: String,
    /// A further optimization instead of the built-in one of the log's name.
    pub optimization: Option<PathBuf>,
    /// A training policy instead of the optimization's.
    pub policy: Option<PathBuf>,
    /// The learner; `None`: the optimization's, else [`LearnerKind::Auto`].
    pub learner: Option<LearnerKind>,
    /// Depth limit; `None`: chosen by cross-validation.
    pub max_depth: Option<usize>,
    /// Least inputs in a leaf; `None`: chosen by cross-validation.
    pub min_samples_leaf: Option<usize>,
    /// The fallback; `None`: the optimization's.
    pub fallback: Option<String>,
    /// What is held out together.
    pub test_split: SplitBy,
    /// The seed of all splits.
    pub seed: u64,
    /// Pass over malformed rows.
    pub skip_bad_rows: bool,
    /// Read only so many rows of each log.
    pub nrows: Option<u64>,
    /// Logs that are learned from as well, and never held out.
    pub also_train: Vec<NamedLog>,
    /// How much an input of each of them counts; empty: 1.
    pub also_train_weights: Vec<f64>,
    /// How often each input occurs.
    pub weights: Option<PathBuf>,
    /// Leaves hold at least so many choices, to be measured when the program runs.
    pub ranking: Option<usize>,
    /// Keep only so many choices.
    pub max_choices: Option<usize>,
    /// Trees that vote.
    pub trees: usize,
    /// The promised share of inputs beyond `max_slowdown`; `None`: decide always.
    pub max_risk: Option<f64>,
    /// What counts as slower than the fallback.
    pub max_slowdown: f64,
    /// How calibration inputs are kept from the fit.
    pub promise: PromiseMode,
}

impl RawParams {
    /// The defaults for these logs.
    #[must_use]
    pub fn new(logs: Vec<PathBuf>, heuristic_name: &str) -> Self {
        Self {
            logs,
            heuristic_name: heuristic_name.to_owned(),
            optimization: None,
            policy: None,
            learner: None,
            max_depth: None,
            min_samples_leaf: None,
            fallback: None,
            test_split: SplitBy::Input,
            seed: 0,
            skip_bad_rows: false,
            nrows: None,
            also_train: Vec::new(),
            also_train_weights: Vec::new(),
            weights: None,
            ranking: None,
            max_choices: None,
            trees: 1,
            max_risk: Some(0.01),
            max_slowdown: DEFAULT_MAX_SLOWDOWN,
            promise: PromiseMode::Auto,
        }
    }
}

/// Checked parameters.
#[derive(Clone, Debug, Serialize)]
pub struct Params {
    #[serde(skip)]
    pub(crate) logs: Vec<PathBuf>,
    #[serde(skip)]
    pub(crate) heuristic_name: String,
    #[serde(skip)]
    pub(crate) optimization: Option<PathBuf>,
    #[serde(skip)]
    pub(crate) policy: Option<PathBuf>,
    pub(crate) learner: Option<LearnerKind>,
    pub(crate) max_depth: Option<usize>,
    pub(crate) min_samples_leaf: Option<usize>,
    pub(crate) fallback: Option<String>,
    pub(crate) test_split: SplitBy,
    #[serde(skip)]
    pub(crate) seed: u64,
    pub(crate) skip_bad_rows: bool,
    pub(crate) nrows: Option<u64>,
    #[serde(skip)]
    pub(crate) also_train: Vec<NamedLog>,
    pub(crate) also_train_weights: Vec<f64>,
    #[serde(skip)]
    pub(crate) weights: Option<PathBuf>,
    pub(crate) ranking: Option<usize>,
    pub(crate) max_choices: Option<usize>,
    pub(crate) trees: usize,
    pub(crate) max_risk: Option<f64>,
    pub(crate) max_slowdown: f64,
    pub(crate) promise: PromiseMode,
}

/// Deeper trees are refused by the model format.
pub const MAX_DEPTH: usize = 64;
/// More trees gain nothing: two further presets err differently enough.
pub const MAX_TREES: usize = 3;

impl RawParams {
    /// Checks every field.
    ///
    /// # Errors
    /// [`TrainError::Parameter`] for the first that is out of range.
    pub fn check(self) -> Result<Params, TrainError> {
        self.check_names()?;
        self.check_numbers()?;
        let also_train_weights = match self.also_train_weights.len() {
            0 => vec![1.0; self.also_train.len()],
            _ => self.also_train_weights,
        };
        Ok(Params {
            logs: self.logs,
            heuristic_name: self.heuristic_name,
            optimization: self.optimization,
            policy: self.policy,
            learner: self.learner,
            max_depth: self.max_depth,
            min_samples_leaf: self.min_samples_leaf,
            fallback: self.fallback,
            test_split: self.test_split,
            seed: self.seed,
            skip_bad_rows: self.skip_bad_rows,
            nrows: self.nrows,
            also_train: self.also_train,
            also_train_weights,
            weights: self.weights,
            ranking: self.ranking,
            max_choices: self.max_choices,
            trees: self.trees,
            // Who measures several choices when the program runs needs no promise.
            max_risk: self.max_risk.filter(|_| self.ranking.is_none()),
            max_slowdown: self.max_slowdown,
            promise: self.promise,
        })
    }

    fn check_names(&self) -> Result<(), TrainError> {
        if self.logs.is_empty() {
            return wrong("LOG", "at least one log", "none");
        }
        if !is_identifier(&self.heuristic_name) {
            return wrong(
                "--heuristic-name",
                "a name of ASCII letters, digits and _, beginning with a letter, at most 64 long",
                format!("{:?}", self.heuristic_name),
            );
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), TrainError> {
        if let Some(depth) = self.max_depth.filter(|d| !(1..=MAX_DEPTH).contains(d)) {
            return wrong("--max-depth", "1 to 64", depth);
        }
        for (flag, value) in [
            ("--min-samples-leaf", self.min_samples_leaf),
            ("--ranking", self.ranking),
            ("--nrows", self.nrows.map(|n| n as usize)),
        ] {
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
        if self.trees > 1
            && self.learner.is_some_and(|l| matches!(l, LearnerKind::Linfa | LearnerKind::Regression))
        {
            return wrong("--trees", "the learner soft or auto, as only its trees vote", "another learner");
        }
        if let Some(risk) = self.max_risk.filter(|r| !(*r > 0.0 && *r < 1.0)) {
            return wrong("--max-risk", "a share above 0 and below 1 (0.01 is 1 %), or none", risk);
        }
        if !(self.max_slowdown >= 1.0 && self.max_slowdown.is_finite()) {
            return wrong("--max-slowdown", "a number from 1 on (1.05: 5 % slower)", self.max_slowdown);
        }
        let weights = self.also_train_weights.len();
        if weights > 0 && weights != self.also_train.len() {
            return wrong(
                "--weight",
                &format!("one for each of the {} --also-train, or none", self.also_train.len()),
                weights,
            );
        }
        if let Some(weight) = self.also_train_weights.iter().find(|w| !(**w > 0.0 && w.is_finite())) {
            return wrong("--weight", "a number above 0", weight);
        }
        Ok(())
    }
}

fn wrong<T>(flag: &'static str, expected: &str, found: impl std::fmt::Display) -> Result<T, TrainError> {
    Err(TrainError::Parameter { flag, expected: expected.to_owned(), found: found.to_string() })
}

/// The name becomes a type and a crate in generated code.
fn is_identifier(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
