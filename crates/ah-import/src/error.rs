//! Errors of imports: each is one sentence with what was expected, what was found and where.

use std::path::PathBuf;

use ah_types::Fault;
use ah_types::log::LogError;
use ah_types::shown::{did_you_mean, listed, quoted};

/// A table cannot be imported.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum ImportError {
    /// A flag has an impossible value, or does not fit with another.
    #[error("{flag}: expected {expected}, found {found}")]
    Parameter { flag: &'static str, expected: String, found: String },
    /// A flag names a column that the table does not have.
    #[error(
        "{}: {flag}: there is no column {}; the columns are {}{}",
        path.display(),
        quoted(column),
        listed(known),
        did_you_mean(column, known)
    )]
    UnknownColumn { path: PathBuf, flag: &'static str, column: String, known: Vec<String> },
    /// There is nothing to import.
    #[error("{what}; {hint}")]
    TooLittle { what: String, hint: &'static str },
    /// A table or the log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl From<Fault> for ImportError {
    fn from(fault: Fault) -> Self {
        Self::Log(fault.into())
    }
}

impl ImportError {
    pub(crate) fn parameter(
        flag: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Parameter { flag, expected: expected.into(), found: found.into() }
    }
}

/// Returns the fault of a row.
pub(crate) fn bad_row(expected: impl Into<String>, found: impl Into<String>) -> Fault {
    Fault::new(expected, found, "mend the row, or skip such rows with --skip-bad-rows")
}

/// Returns the fault of a whole file.
pub(crate) fn bad_file(expected: impl Into<String>, found: impl Into<String>) -> Fault {
    Fault::new(expected, found, "mend the file, or name its format with --format")
}

#[cfg(feature = "cli")]
impl ah_cli::FatalError for ImportError {
    fn exit_code(&self) -> u8 {
        use ah_cli::exit;
        match self {
            Self::Parameter { .. } | Self::UnknownColumn { .. } => exit::USAGE,
            Self::TooLittle { .. } => exit::TOO_LITTLE,
            Self::Log(e) => e.exit_code(),
        }
    }
}
