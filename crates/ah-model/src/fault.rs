//! What is wrong with a file, or with a part of one: the place, what was expected there, what was found, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::shown::{quoted, reason};

/// Something that is not as it should be: the place, what was expected and what was found, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);

/// Something in a file that is not as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// The file; empty until [`Fault::at`] names it.
    pub path: PathBuf,
    /// The row; `None` for the whole file.
    pub row: Option<RowNumber>,
    /// The column as the message has it; empty for the whole row.
    pub column: String,
    /// What was expected.
    pub expected: String,
    /// What was found instead.
    pub found: String,
    /// What to do.
    pub hint: String,
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
    /// The number.
    pub fn get(&self) -> u64 {
        let (Self::Line(number) | Self::Row(number) | Self::Named(number, _)) = self;
        *number
    }
}

impl Fault {
    /// A fault whose place is not known here.
    pub fn new(expected: impl Into<String>, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { expected: expected.into(), found: found.into(), hint: hint.into(), ..Self::default() }
    }

    /// The fault in the column of this name.
    pub fn in_column(mut self, name: &str) -> Self {
        self.column = format!(": column {}", quoted(name));
        self
    }

    /// The fault at this position of a row, from 1.
    pub fn at_column(mut self, column: usize) -> Self {
        self.column = format!(":{column}");
        self
    }

    /// The fault in this row of a file.
    pub fn at(mut self, path: &Path, row: RowNumber) -> Self {
        self.row = Some(row);
        self.of_file(path)
    }

    /// The fault of this file.
    pub fn of_file(mut self, path: &Path) -> Self {
        path.clone_into(&mut self.path);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match &self.row {
            None => {}
            Some(RowNumber::Line(number)) => write!(f, ":{number}")?,
            Some(RowNumber::Row(number)) => write!(f, ", row {number}")?,
            Some(RowNumber::Named(number, name)) => write!(f, ", row {number} ({})", quoted(name))?,
        }
        write!(f, "{}: expected {}, found {}; {}", self.column, self.expected, self.found, self.hint)
    }
}

fn meaning(key: &str) -> &'static str {
    if key.ends_with("commands_hash") { ", as the commands have changed" } else { "" }
}

/// A key whose value differs between two logs' metadata.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}{} (log: {}, other: {})", meaning(key), reason(log), reason(other))]
pub struct Difference {
    /// For example `autoheuristic_rs.device.model`.
    pub key: String,
    /// The value in the log.
    pub log: String,
    /// The other value.
    pub other: String,
}
