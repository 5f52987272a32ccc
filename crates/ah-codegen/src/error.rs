//! Errors: each names the place, what was expected and what was found.

use std::path::{Path, PathBuf};

use ah_cli::{FatalError, OutputError, exit};
use ah_types::{FileError, Invalid, log};

/// Code cannot be generated.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum CodegenError {
    /// The model file cannot be used.
    #[error(transparent)]
    Model(#[from] FileError),
    /// The model in memory breaks an invariant.
    #[error(transparent)]
    Invalid(Invalid),
    /// A log cannot be read.
    #[error(transparent)]
    Log(#[from] log::LogError),
    /// Standard output is closed.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The command line asks for what cannot be written: a sentence.
    #[error("{0}")]
    Usage(String),
    /// The model, or the log of `--rows`, does not serve: a sentence.
    #[error("{0}")]
    Unfit(String),
    /// A skeleton cannot be rendered.
    #[error("a skeleton of ah-codegen does not render; report this: {problem}")]
    Skeleton { problem: String },
    /// Something that no generator wrote is in the way.
    #[error("{}: was not written by ah-codegen, and would be lost; move it, or give another folder with --out", path.display())]
    Taken { path: PathBuf },
    /// Reading or writing failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
}

impl CodegenError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

impl FatalError for CodegenError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Io { .. } | Self::Taken { .. } => exit::IO,
            Self::Model(e) => e.exit_code(),
            Self::Log(e) => e.exit_code(),
            Self::Output(e) => e.exit_code(),
            Self::Usage(_) => exit::USAGE,
            _ => exit::BAD_INPUT,
        }
    }
}
