//! A tool: how its records are known and read.

use ah_model::Fault;
use ah_model::shown::quoted;
use indexmap::IndexSet;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::error::bad_file;

/// A tool: how its records are known and read.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// The name for `--tool`.
    pub flag: &'static str,
    pub name: &'static str,
    /// Keys that only its records have, as JSON pointers.
    pub keys: &'static [&'static str],
    /// Returns the rows of a record, and adds the columns of the features and of the choice to those of the records before.
    pub read: fn(&Json, &mut Defaults) -> Result<Vec<NamedRow>, Fault>,
    /// The column of the times, in milliseconds.
    pub time: &'static str,
    /// Texts in place of a time that mean that the choice failed.
    pub failed: &'static [&'static str],
}

/// The roles that a format gives to its columns. A flag overrides each.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// The features, without a column that a flag names for the choice.
    pub features: IndexSet<String>,
    /// The columns of the choice, without those that a flag names as features.
    pub choice: IndexSet<String>,
    /// The column of the times: the first of these that the table has.
    pub time: Vec<String>,
    /// The tool that wrote the file: it names the column of the times, which are in milliseconds.
    pub tool: Option<Tool>,
}

/// A row, and its name if it has one.
pub type NamedRow = (Option<String>, Map<String, Json>);

/// Reads the part of a record that we need.
pub fn part<'a, T: Deserialize<'a>>(record: &'a Json) -> Result<T, Fault> {
    T::deserialize(record).map_err(|error| {
        bad_file("the keys and values that it writes", format!("{} ({error})", quoted(&record.to_string())))
    })
}
