//! Errors of training: each is one sentence with what was expected, what was found and where.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use ah_types::log::LogError;
use ah_types::shown::{did_you_mean, listed};
use ah_types::{FileError, Invalid};

/// A training or an evaluation cannot be done.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum TrainError {
    /// A flag's value is out of its range, or two flags contradict each other.
    #[error("{flag}: expected {expected}, found {found}")]
    Parameter { flag: &'static str, expected: String, found: String },
    /// A log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An optimization or a model cannot be used, or the log's name is not the name of a built-in optimization.
    #[error(transparent)]
    File(#[from] FileError),
    /// A derived feature of the optimization does not fit the log.
    #[error("optimization {optimization:?}: {source}")]
    Derived { optimization: String, source: Invalid },
    /// A field of the optimization is wrong, or does not fit the log.
    #[error("optimization {optimization:?}: {what}: {reason}")]
    Expression { optimization: String, what: &'static str, reason: String },
    /// The optimization uses a feature that neither the log nor the optimization has.
    #[error(
        "optimization {optimization:?}: {what}: unknown feature {feature:?}; the features are {}{}",
        listed(known),
        did_you_mean(feature, known)
    )]
    UnknownFeature { optimization: String, what: String, feature: String, known: Vec<String> },
    /// The optimization's file and the log have different names.
    #[error("{}: the file describes {found:?}, but the log is of {log:?}", path.display())]
    OtherOptimization { path: PathBuf, log: String, found: String },
    /// The log has no choice of the given name.
    #[error(
        "{flag}: unknown choice {choice:?}; the choices are {}{}",
        listed(known),
        did_you_mean(choice, known)
    )]
    UnknownChoice { flag: &'static str, choice: String, known: Vec<String> },
    /// A model and a log belong to different optimizations.
    #[error("{}: the model decides {model}, the log is of {log}", path.display())]
    Mismatch { path: PathBuf, model: String, log: String },
    /// A file of weights has a malformed line.
    #[error("{}:{line}: expected {expected}, found {found}", path.display())]
    Malformed {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        expected: String,
        found: String,
    },
    /// The log is well-formed but holds too little to learn from.
    #[error("{what}; {hint}")]
    TooLittle { what: String, hint: &'static str },
    /// The log has more features than learning has memory for.
    #[error("expected at most {most} features, found {found}; leave columns out of the log")]
    TooManyFeatures { most: usize, found: usize },
    /// Another file cannot be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: std::io::Error },
}

impl TrainError {
    /// A flag's value is out of its range, or two flags contradict each other.
    pub(crate) fn parameter(flag: &'static str, expected: impl Display, found: impl Display) -> Self {
        Self::Parameter { flag, expected: expected.to_string(), found: found.to_string() }
    }

    /// Returns the error of doing `action` with a file.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), action, source }
    }
}

#[cfg(feature = "cli")]
impl ah_cli::FatalError for TrainError {
    fn exit_code(&self) -> u8 {
        use ah_cli::exit;
        match self {
            Self::Parameter { .. } | Self::UnknownChoice { .. } => exit::USAGE,
            Self::Log(e) => e.exit_code(),
            Self::File(e) => e.exit_code(),
            Self::Io { .. } => exit::IO,
            Self::Derived { .. }
            | Self::Expression { .. }
            | Self::UnknownFeature { .. }
            | Self::OtherOptimization { .. }
            | Self::Mismatch { .. }
            | Self::Malformed { .. }
            | Self::TooManyFeatures { .. } => exit::BAD_INPUT,
            Self::TooLittle { .. } => exit::TOO_LITTLE,
        }
    }
}
