//! Errors of imports: each is one sentence with what was expected, what was found and where.

use std::fmt;
use std::path::{Path, PathBuf};

use ah_types::log::LogError;
use ah_types::shown::{did_you_mean, listed, quoted};

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPlace {
    /// The file.
    pub path: PathBuf,
    /// The row.
    pub number: RowNumber,
}

/// The number of a row, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowNumber {
    /// The line of a text file.
    Line(u64),
    /// The row of another file.
    Row(u64),
    /// A row with a name, for example the key of a cache.
    Named(u64, String),
}

impl RowNumber {
    pub(crate) fn get(&self) -> u64 {
        let (Self::Line(number) | Self::Row(number) | Self::Named(number, _)) = self;
        *number
    }
}

impl fmt::Display for RowPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match &self.number {
            RowNumber::Line(number) => write!(f, ":{number}"),
            RowNumber::Row(number) => write!(f, ", row {number}"),
            RowNumber::Named(number, name) => write!(f, ", row {number} ({})", quoted(name)),
        }
    }
}

/// Why a row cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The column; empty if the whole row is meant.
    pub column: String,
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
    /// What to do.
    pub hint: String,
}

impl Fault {
    pub(crate) fn new(column: &str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        let hint = "mend the row, or skip such rows with --skip-bad-rows".to_owned();
        Self { column: column.to_owned(), expected: expected.into(), found: found.into(), hint }
    }

    pub(crate) fn at(self, path: &Path, number: RowNumber) -> ImportError {
        ImportError::Row { place: RowPlace { path: path.to_owned(), number }, fault: Box::new(self) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.column.is_empty() {
            write!(f, "column {}: ", quoted(&self.column))?;
        }
        write!(f, "expected {}, found {}; {}", self.expected, self.found, self.hint)
    }
}

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
    /// A row is not what it should be.
    #[error("{place}: {fault}")]
    Row { place: RowPlace, fault: Box<Fault> },
    /// The file is not of its format.
    #[error("{}: expected {expected}, found {found}; {hint}", path.display())]
    Unreadable { path: PathBuf, expected: String, found: String, hint: &'static str },
    /// The file cannot be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: std::io::Error },
    /// There is nothing to import.
    #[error("{what}; {hint}")]
    TooLittle { what: String, hint: &'static str },
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl ImportError {
    pub(crate) fn parameter(
        flag: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Parameter { flag, expected: expected.into(), found: found.into() }
    }

    pub(crate) fn unreadable(path: &Path, expected: &str, found: impl Into<String>) -> Self {
        let hint = "mend the file, or name its format with --format";
        Self::Unreadable { path: path.to_owned(), expected: expected.to_owned(), found: found.into(), hint }
    }
}

pub(crate) fn io_error(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> ImportError {
    move |source| ImportError::Io { path: path.to_owned(), action, source }
}

#[cfg(feature = "cli")]
impl ah_cli::FatalError for ImportError {
    fn exit_code(&self) -> u8 {
        use ah_cli::exit;
        match self {
            Self::Parameter { .. } | Self::UnknownColumn { .. } => exit::USAGE,
            Self::Row { .. } | Self::Unreadable { .. } => exit::BAD_INPUT,
            Self::Io { .. } => exit::IO,
            Self::TooLittle { .. } => exit::TOO_LITTLE,
            Self::Log(e) => e.exit_code(),
        }
    }
}
