//! A tool: how its records are known and read.

use ah_model::Fault;
use ah_model::shown::quoted;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::error::bad_file;
use crate::preset::Preset;

/// A tool: how its records are known and read.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// The name for `--tool`.
    pub flag: &'static str,
    pub name: &'static str,
    /// Keys that only its records have, as JSON pointers.
    pub keys: &'static [&'static str],
    /// Returns the rows of a record, and adds the columns of the features and of the choice to those of the records before.
    pub read: fn(&Json, &mut Preset) -> Result<Vec<NamedRow>, Fault>,
    /// The column of the times, in milliseconds; `inf` where the choice failed.
    pub time: &'static str,
}

/// A row, and its name if it has one.
pub type NamedRow = (Option<String>, Map<String, Json>);

/// Reads the part of a record that we need.
pub fn part<'a, T: Deserialize<'a>>(record: &'a Json) -> Result<T, Fault> {
    T::deserialize(record).map_err(|error| {
        bad_file("the keys and values that it writes", format!("{} ({error})", quoted(&record.to_string())))
    })
}
