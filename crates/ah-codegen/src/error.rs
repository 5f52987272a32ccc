//! Errors of generating.

use std::io;
use std::path::{Path, PathBuf};

use ah_cli::{FatalError, exit};
use ah_types::log::LogError;
use ah_types::{InvalidModel, ModelError};

use crate::pinned::TableError;

/// The most features, categories of all features, values that trees test, and leaves of a tree: generated code numbers each
/// with 16 bits.
pub(crate) const MOST: usize = 65_000;

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
    #[error("expected at most {MOST} {what}, found {found}; learn from fewer")]
    TooMany { what: &'static str, found: usize },
    /// The form `switch` has no boosted trees.
    #[error(
        "--form switch needs a model of one tree, found {boosters} boosted trees beside it; learn it with ah-train --learner cost_tree, and with --max-leaves for fewer lines"
    )]
    SwitchOfBoosters { boosters: usize },
    /// A log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A table of decisions cannot be made.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The target has no form `switch`.
    #[error("--form switch: expected a target of c, python and rust, found {target}")]
    NoSwitch { target: &'static str },
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
            Self::Log(e) => e.exit_code(),
            Self::Invalid(_) | Self::TooMany { .. } | Self::Template(_) | Self::SwitchOfBoosters { .. } => {
                exit::BAD_INPUT
            }
            Self::Table(TableError::NoRows { .. } | TableError::UnknownColumn { .. }) => exit::USAGE,
            Self::Table(_) => exit::BAD_INPUT,
            Self::NoSwitch { .. } => exit::USAGE,
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
