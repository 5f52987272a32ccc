//! Why work cannot go on: one error for all crates.

use std::io;
use std::path::{Path, PathBuf};

use crate::fault::{Difference, Fault, Invalid};

/// Why work cannot go on, in a sentence. The kinds are those of the tools' exit codes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // The messages show the fields.
pub enum Error {
    /// A field of the parameters has an impossible value, or contradicts another one.
    #[error("{field}: expected {expected}, found {found}")]
    Parameter { field: &'static str, expected: String, found: String },
    /// What is asked for does not exist here, or cannot be done.
    #[error("{0}")]
    Usage(String),
    /// A file, or a value in memory, is not as it should be.
    #[error("{0}")]
    Invalid(String),
    /// A part of a file is not as it should be.
    #[error(transparent)]
    Malformed(Box<Fault>),
    /// Two logs, or a log and the rows to append, do not belong together.
    #[error("{}: the metadata differs from {other}: {}; {hint}", path.display(), join(differences))]
    Metadata { path: PathBuf, other: String, differences: Vec<Difference>, hint: String },
    /// What is there is well-formed, but too little.
    #[error("{0}")]
    TooLittle(String),
    /// The device or backend is missing or does not work.
    #[error("{0}")]
    Device(String),
    /// Reading or writing failed.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: io::Error },
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Malformed(Box::new(fault))
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid.0)
    }
}

impl Error {
    /// The error of a field's value.
    #[allow(clippy::needless_pass_by_value)] // So that a text and a number are given alike.
    pub fn parameter(field: &'static str, expected: impl ToString, found: impl ToString) -> Self {
        Self::Parameter { field, expected: expected.to_string(), found: found.to_string() }
    }

    /// Checks that a field with a list has each value once. `shown` prints a value.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the first value that it has twice.
    pub fn require_distinct<T: PartialEq>(
        field: &'static str,
        value: &str,
        list: &[T],
        shown: impl Fn(&T) -> String,
    ) -> Result<(), Self> {
        let twice = (1..list.len()).find(|&at| list[..at].contains(&list[at]));
        let found = twice.map(|at| format!("{} twice", shown(&list[at])));
        found.map_or(Ok(()), |found| Err(Self::parameter(field, format!("each {value} once"), found)))
    }

    /// The error of an action on a file: to read or to write it, for example.
    pub fn io(path: &Path, action: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), action, source }
    }
}

fn join(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
