//! The errors of models.

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

/// A part of a model is invalid: the place, what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidModel(pub String);
