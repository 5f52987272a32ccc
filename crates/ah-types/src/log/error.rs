//! The errors of logs, with their places.

use std::path::{Path, PathBuf};

use super::metadata::Difference;
use crate::fault::Fault;
use crate::shown::quoted;

/// A log cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum LogError {
    /// The file cannot be opened, read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: std::io::Error },
    /// The log is malformed.
    #[error(transparent)]
    Malformed(Box<Fault>),
    /// Two logs, or a log and the rows to append, do not belong together.
    #[error("{}: the metadata differs from {other}: {}; {hint}", path.display(), join(differences))]
    Metadata { path: PathBuf, other: String, differences: Vec<Difference>, hint: &'static str },
    /// The log is of another optimization than the rows to append.
    #[error("{}: the log is of {found}, this run measures {expected}\nwrite to another file: -o {expected}.txt", path.display())]
    OtherOptimization { path: PathBuf, expected: String, found: String },
    /// The log has a header but no rows.
    #[error("{}: the log has no rows; measure some inputs first (ah-collect)", path.display())]
    Empty { path: PathBuf },
}

impl From<Fault> for LogError {
    fn from(fault: Fault) -> Self {
        Self::Malformed(Box::new(fault))
    }
}

impl LogError {
    /// Returns the error of an action on a file: to read or to write it, for example.
    pub fn io(path: &Path, action: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), action, source }
    }
}

fn join(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns bytes in quotes for an error message.
pub(super) fn shown(bytes: &[u8]) -> String {
    if bytes.is_empty() { "nothing".to_owned() } else { quoted(&String::from_utf8_lossy(bytes)) }
}
