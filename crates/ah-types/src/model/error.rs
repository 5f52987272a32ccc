//! The errors of models, with their places.

use std::fmt;
use std::path::PathBuf;

/// A model cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum ModelError {
    /// The file cannot be read or written.
    #[error("{}: cannot {action} the model: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: std::io::Error },
    /// The file is not a valid model.
    #[error("{}: not a valid model: {source}", path.display())]
    Invalid { path: PathBuf, source: InvalidModel },
}

/// A part of a model is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
#[error("{place}{problem}")]
pub struct InvalidModel {
    /// The place.
    pub place: ModelPlace,
    /// What was expected and what was found.
    pub problem: String,
}

/// A place in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The text shows the fields.
pub enum ModelPlace {
    /// The model as a whole.
    Model,
    /// A position in the JSON text, counted from 1.
    Text {
        line: usize,
        /// The column in bytes.
        column: usize,
    },
    /// A node of the tree, counted from 0.
    Node(usize),
    /// A node of a booster, both counted from 0.
    BoosterNode { booster: usize, node: usize },
}

impl ModelPlace {
    /// Returns the error that something is wrong here.
    pub(super) fn error(self, problem: impl Into<String>) -> InvalidModel {
        InvalidModel { place: self, problem: problem.into() }
    }
}

/// Prints the place as the beginning of a message; nothing for the model as a whole.
impl fmt::Display for ModelPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => Ok(()),
            Self::Text { line, column } => write!(f, "line {line}, column {column}: "),
            Self::Node(node) => write!(f, "node {node}: "),
            Self::BoosterNode { booster, node } => write!(f, "booster {booster}: node {node}: "),
        }
    }
}
