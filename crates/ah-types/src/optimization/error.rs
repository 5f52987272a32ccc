//! Errors of optimizations.

use std::path::{Path, PathBuf};

use crate::feature::DuplicateFeature;
use crate::shown::{did_you_mean, listed, quoted, reason};

/// An optimization cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum OptimizationError {
    /// No built-in one of this name.
    #[error(
        "unknown optimization {}; built in: {}; for another: --optimization FILE.toml{}",
        quoted(name),
        listed(known),
        did_you_mean(name, known)
    )]
    Unknown { name: String, known: Vec<String> },
    /// The file cannot be read.
    #[error("{}: cannot read the optimization: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// The file is not valid TOML, or not an optimization.
    #[error("{}: not an optimization: {message}", path.display())]
    Toml { path: PathBuf, message: String },
    /// Two features share a name.
    #[error("optimization {}: {source}", quoted(name))]
    Duplicate { name: String, source: DuplicateFeature },
}

impl OptimizationError {
    pub(super) fn toml(path: &Path, error: &toml::de::Error) -> Self {
        Self::Toml { path: path.to_owned(), message: reason(error.to_string().trim()) }
    }
}
