//! A tool: how its records are known and read.

use ah_types::Fault;
use ah_types::shown::quoted;
use indexmap::IndexSet;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::cell::Defaults;
use crate::error::bad_file;
use crate::params::Unit;

/// A tool: how its records are known and read.
pub struct Tool {
    pub name: &'static str,
    /// Keys that only its records have, as JSON pointers.
    pub keys: &'static [&'static str],
    pub read: fn(&Json) -> Result<Results, Fault>,
    /// The column of the times, in milliseconds.
    pub time: &'static str,
    /// Texts in place of a time that mean that the choice failed.
    pub failed: &'static [&'static str],
}

/// A row, and its name if it has one.
pub type NamedRow = (Option<String>, Map<String, Json>);

/// The rows of a record or of a file.
#[derive(Default)]
pub struct Results {
    pub rows: Vec<NamedRow>,
    /// The columns of the features.
    pub features: IndexSet<String>,
    /// The columns of the choice.
    pub choice: IndexSet<String>,
}

impl Tool {
    /// Adds a record to those before it, and returns its rows.
    ///
    /// # Errors
    /// A fault with the tool's name.
    pub fn read(&self, record: &Json, before: &mut Results) -> Result<Vec<NamedRow>, Fault> {
        let Results { rows, features, choice } = (self.read)(record)
            .map_err(|fault| Fault { expected: format!("{} with {}", self.name, fault.expected), ..fault })?;
        before.features.extend(features);
        before.choice.extend(choice);
        Ok(rows)
    }

    /// Returns the roles of the columns of all records.
    pub fn defaults(&self, Results { features, choice, .. }: Results) -> Defaults {
        Defaults {
            features: features.into_iter().collect(),
            choice: choice.into_iter().collect(),
            time: vec![self.time.to_owned()],
            unit: Some(Unit::Ms),
            failed: self.failed,
        }
    }
}

/// Reads the part of a record that we need.
pub fn part<'a, T: Deserialize<'a>>(record: &'a Json) -> Result<T, Fault> {
    T::deserialize(record).map_err(|error| {
        bad_file("the keys and values that it writes", format!("{} ({error})", quoted(&record.to_string())))
    })
}
