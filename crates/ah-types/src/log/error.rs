//! The errors of logs, with their places.

use std::path::{Path, PathBuf};

use super::metadata::Difference;
use crate::fault::{ColumnPlace, Fault, RowNumber};
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

impl LogError {
    /// Returns the fault at a line and a column of a log; 0 stands for the whole file or line.
    pub fn malformed(
        path: &Path,
        (line, column): (u64, usize),
        expected: impl Into<String>,
        found: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let mut fault = Fault::new(expected, found, hint).of_file(path);
        fault.place.row = Some(RowNumber::Line(line)).filter(|_| line > 0);
        fault.place.column = Some(ColumnPlace::At(column as u64)).filter(|_| column > 0);
        Self::Malformed(Box::new(fault))
    }
}

fn join(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns bytes in quotes for an error message.
pub(super) fn shown(bytes: &[u8], nothing: &str) -> String {
    if bytes.is_empty() { nothing.to_owned() } else { quoted(&String::from_utf8_lossy(bytes)) }
}

pub(super) fn io_error(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> LogError {
    move |source| LogError::Io { path: path.to_owned(), action, source }
}
