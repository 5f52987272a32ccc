//! Reads the files of autotuners as rows of a table. Their columns have roles, so that no flag is needed but `--name`.
//!
//! A tool's file has one or more *records*: a JSON document is one record, and so is each JSON line. Adding a tool is one
//! file and one line of [`KNOWN`].

mod inductor;
mod kernel_tuner;
mod triton;

use ah_types::Fault;
use ah_types::shown::quoted;
use indexmap::IndexSet;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::error::bad_file;
use crate::params::Unit;
use crate::table::Defaults;

const KNOWN: [Tool; 4] = [kernel_tuner::TOOL, triton::TOOL, inductor::PRODUCTS, inductor::RESULTS];

/// A tool: how its records are known and read.
pub struct Tool {
    name: &'static str,
    /// Keys that only its records have, as JSON pointers.
    keys: &'static [&'static str],
    read: fn(&Json) -> Result<Results, Fault>,
    /// The column of the times, in milliseconds.
    time: &'static str,
    /// Texts in place of a time that mean that the choice failed.
    failed: &'static [&'static str],
}

/// A row, and its name if it has one.
pub type NamedRow = (Option<String>, Map<String, Json>);

/// The rows of a record or of a file.
#[derive(Default)]
pub struct Results {
    rows: Vec<NamedRow>,
    /// The columns of the features.
    features: IndexSet<String>,
    /// The columns of the choice.
    choice: IndexSet<String>,
}

/// Returns the tool that writes records such as this one.
pub fn find(record: &Json) -> Option<&'static Tool> {
    KNOWN.iter().find(|tool| tool.keys.iter().all(|key| record.pointer(key).is_some()))
}

/// Returns the names of all tools' files.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|tool| tool.name)
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
fn part<'a, T: Deserialize<'a>>(record: &'a Json) -> Result<T, Fault> {
    T::deserialize(record).map_err(|error| {
        bad_file("the keys and values that it writes", format!("{} ({error})", quoted(&record.to_string())))
    })
}
