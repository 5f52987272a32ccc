//! Errors of generating.

use std::io;
use std::path::{Path, PathBuf};

use ah_cli::{FatalError, exit};
use ah_types::{InvalidModel, ModelError};

/// The most features, and the most categories of all features: generated Rust numbers both with a `u16`.
pub(crate) const MOST: usize = 65_000;

/// The most nodes of all trees: a node numbers its child with 24 bits.
pub(crate) const MOST_NODES: usize = 1 << 24;

/// Generating failed; nothing was replaced.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum CodegenError {
    /// The model cannot be read or is not valid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model is not valid (it was not read from a file).
    #[error("not a valid model: {0}")]
    Invalid(InvalidModel),
    /// The model has more than generated code can number.
    #[error("expected at most {most} {what}, found {found}; learn from fewer")]
    TooMany { what: &'static str, found: usize, most: usize },
    /// A file or folder cannot be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// A template is malformed.
    #[error("template: {0}")]
    Template(String),
    /// A path is not Unicode.
    #[error("{}: expected a path in Unicode; rename it", path.display())]
    NotUnicode { path: PathBuf },
    /// Something at the place was not generated.
    #[error("{}: was not written by ah-codegen, and would be lost; move it, or give another folder with --out", path.display())]
    Taken { path: PathBuf },
}

impl FatalError for CodegenError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Model(e) => e.exit_code(),
            Self::Invalid(_) | Self::TooMany { .. } | Self::Template(_) => exit::BAD_INPUT,
            Self::Io { .. } | Self::NotUnicode { .. } | Self::Taken { .. } => exit::IO,
        }
    }
}

impl CodegenError {
    pub(crate) fn template(error: &tera::Error) -> Self {
        use std::error::Error;
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self::Template(text.replace('\n', " "))
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
