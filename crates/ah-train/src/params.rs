//! The parameters of one training: raw as they come from the command line, then checked, once.

use std::path::PathBuf;

use serde::Serialize;

use crate::error::TrainError;
use crate::learners::Kind;
use crate::split::SplitBy;

/// As given; [`check`](Self::check) makes [`Params`] of it.
#[derive(Clone, Debug)]
pub struct RawParams {
    /// The logs, merged in this order.
    pub logs: Vec<PathBuf>,
    /// The heuristic's name.
    pub heuristic_name: String,
    /// A further optimization instead of the built-in one of the log's name.
    pub optimization: Option<PathBuf>,
    /// The learner.
    pub learner: Kind,
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
    /// Threads; `None`: all cores.
    pub threads: Option<usize>,
    /// Pass over malformed rows.
    pub skip_bad_rows: bool,
    /// Read only so many rows of each log.
    pub nrows: Option<u64>,
}

/// Checked parameters.
#[derive(Clone, Debug, Serialize)]
pub struct Params {
    /// The logs, merged in this order.
    #[serde(skip)]
    pub logs: Vec<PathBuf>,
    /// The heuristic's name.
    #[serde(skip)]
    pub heuristic_name: String,
    /// A further optimization instead of the built-in one of the log's name.
    #[serde(skip)]
    pub optimization: Option<PathBuf>,
    /// The learner.
    pub learner: Kind,
    /// Depth limits to search.
    pub max_depth: Option<usize>,
    /// Least inputs in a leaf.
    pub min_samples_leaf: Option<usize>,
    /// The fallback asked for.
    #[serde(skip)]
    pub fallback: Option<String>,
    /// What is held out together.
    pub test_split: SplitBy,
    /// The seed of all splits.
    #[serde(skip)]
    pub seed: u64,
    /// Threads. Does not change the result.
    #[serde(skip)]
    pub threads: Option<usize>,
    /// Pass over malformed rows.
    pub skip_bad_rows: bool,
    /// Read only so many rows of each log.
    pub nrows: Option<u64>,
}

/// Deeper trees are refused by the model format.
pub const MAX_DEPTH: usize = 64;

impl RawParams {
    /// Checks every field.
    ///
    /// # Errors
    /// [`TrainError::Parameter`] for the first that is out of range.
    pub fn check(self) -> Result<Params, TrainError> {
        let wrong = |flag, expected: &str, found: String| {
            Err(TrainError::Parameter { flag, expected: expected.to_owned(), found })
        };
        if self.logs.is_empty() {
            return wrong("LOG", "at least one log", "none".to_owned());
        }
        if !is_identifier(&self.heuristic_name) {
            return wrong(
                "--heuristic-name",
                "a name of ASCII letters, digits and _, beginning with a letter, at most 64 long",
                format!("{:?}", self.heuristic_name),
            );
        }
        if let Some(depth) = self.max_depth.filter(|d| !(1..=MAX_DEPTH).contains(d)) {
            return wrong("--max-depth", "1 to 64", depth.to_string());
        }
        if let Some(leaf) = self.min_samples_leaf.filter(|l| *l == 0) {
            return wrong("--min-samples-leaf", "1 or more", leaf.to_string());
        }
        if let Some(threads) = self.threads.filter(|t| *t == 0) {
            return wrong("--threads", "1 or more", threads.to_string());
        }
        if let Some(rows) = self.nrows.filter(|n| *n == 0) {
            return wrong("--nrows", "1 or more", rows.to_string());
        }
        Ok(Params {
            logs: self.logs,
            heuristic_name: self.heuristic_name,
            optimization: self.optimization,
            learner: self.learner,
            max_depth: self.max_depth,
            min_samples_leaf: self.min_samples_leaf,
            fallback: self.fallback,
            test_split: self.test_split,
            seed: self.seed,
            threads: self.threads,
            skip_bad_rows: self.skip_bad_rows,
            nrows: self.nrows,
        })
    }
}

/// The name becomes a type and a crate in generated code.
fn is_identifier(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
