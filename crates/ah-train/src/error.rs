//! What can go wrong in training, each in one sentence with its exit code.

use std::path::PathBuf;

use ah_cli::{Failure, exit};
use ah_types::derived::DerivedError;
use ah_types::{LogError, ModelError, OptimizationError};

/// Training or evaluation cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A flag's value is out of its range, or two flags contradict each other.
    #[error("{flag}: expected {expected}, found {found}")]
    Parameter {
        /// As it is written on the command line.
        flag: &'static str,
        /// What is allowed.
        expected: String,
        /// What was given.
        found: String,
    },
    /// A log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An optimization cannot be read, or none is known by the log's name.
    #[error(transparent)]
    Optimization(#[from] OptimizationError),
    /// An optimization's derived feature does not fit the log.
    #[error("optimization {optimization:?}: {source}")]
    Derived {
        /// The optimization.
        optimization: String,
        /// Which feature and why.
        source: Box<DerivedError>,
    },
    /// An expression of the optimization (precondition, row filter) does not fit the log.
    #[error("optimization {optimization:?}: {what}: {reason}")]
    Expression {
        /// The optimization.
        optimization: String,
        /// `precondition` or `row_filter`.
        what: &'static str,
        /// Where and why.
        reason: String,
    },
    /// A choice that was named does not stand in the log.
    #[error("{flag}: the log has no choice {choice:?}; its choices are {}", known.join(", "))]
    UnknownChoice {
        /// Where it was named.
        flag: &'static str,
        /// The name.
        choice: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// A model and a log do not fit together.
    #[error("{}: the model decides {model}, the log is of {log}", path.display())]
    Mismatch {
        /// The log.
        path: PathBuf,
        /// The model's optimization or feature.
        model: String,
        /// The log's.
        log: String,
    },
    /// A further file (weights) is not what it should be.
    #[error("{}:{line}: expected {expected}, found {found}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The log is sound but holds too little to learn from.
    #[error("{what}; {hint}")]
    TooLittle {
        /// What is there and what is needed.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// linfa refuses the data or its parameters.
    #[error("linfa: {0}")]
    Linfa(#[from] linfa::Error),
    /// The model cannot be written or read.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A further file cannot be written or read.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// `read` or `write`.
        action: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

impl Failure for TrainError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Parameter { .. } | Self::UnknownChoice { .. } => exit::USAGE,
            Self::Log(e) => e.exit_code(),
            Self::Model(e) => e.exit_code(),
            Self::Optimization(e) => e.exit_code(),
            Self::Io { .. } => exit::IO,
            Self::Derived { .. }
            | Self::Expression { .. }
            | Self::Mismatch { .. }
            | Self::Malformed { .. }
            | Self::Linfa(_) => exit::BAD_INPUT,
            Self::TooLittle { .. } => exit::TOO_LITTLE,
        }
    }
}
