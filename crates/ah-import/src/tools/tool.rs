//! A tool: how its records are known and read.

use ah_types::Fault;
use ah_types::shown::quoted;
use rustc_hash::FxHashSet;
use serde_json::{Map, Value as Json};

use crate::error::bad_file;
use crate::params::Unit;
use crate::table::Defaults;

/// A tool's format.
pub struct Tool {
    pub name: &'static str,
    /// Returns whether a record is of this tool, by keys that only its records have.
    pub is: fn(&Json) -> bool,
    pub read: fn(&Json) -> Result<Results, Fault>,
    /// The column of the times, in milliseconds.
    pub time: &'static str,
    /// Texts in place of a time that mean that the choice failed.
    pub failed: &'static [&'static str],
}

/// The rows of a record or of a file.
#[derive(Debug, Default)]
pub struct Results {
    /// The rows, each with its name if it has one.
    pub rows: Vec<(Option<String>, Map<String, Json>)>,
    /// The columns of the features.
    pub features: Vec<String>,
    /// The columns of the choice.
    pub choice: Vec<String>,
}

impl Tool {
    /// Reads a record.
    ///
    /// # Errors
    /// A fault with the tool's name.
    pub fn read(&self, record: &Json) -> Result<Results, Fault> {
        (self.read)(record)
            .map_err(|fault| Fault { expected: format!("{} with {}", self.name, fault.expected), ..fault })
    }

    /// Returns the roles of the columns of all records.
    pub fn defaults(&self, Results { features, choice, .. }: Results) -> Defaults {
        let (time, unit) = (vec![self.time.to_owned()], Some(Unit::Ms));
        Defaults { features, choice, time, unit, failed: self.failed }
    }
}

impl Results {
    /// Adds the columns of the next record, and returns its rows.
    pub fn append(&mut self, next: Self) -> Vec<(Option<String>, Map<String, Json>)> {
        for (all, more) in [(&mut self.features, next.features), (&mut self.choice, next.choice)] {
            let mut known: FxHashSet<String> = all.iter().cloned().collect();
            all.extend(more.into_iter().filter(|name| known.insert(name.clone())));
        }
        next.rows
    }
}

/// Returns whether this is an object with all of these keys.
pub fn has(document: &Json, keys: &[&str]) -> bool {
    document.as_object().is_some_and(|object| keys.iter().all(|key| object.contains_key(*key)))
}

/// Returns the value of one kind under this key.
pub fn under<'a, T>(
    object: &'a Json,
    key: &str,
    kind: &str,
    get: impl Fn(&'a Json) -> Option<T>,
) -> Result<T, Fault> {
    let value = object.get(key).ok_or_else(|| bad_file(format!("the key {}", quoted(key)), "none"))?;
    get(value).ok_or_else(|| bad_file(format!("{kind} under {}", quoted(key)), quoted(&value.to_string())))
}

/// Returns the list under this key.
pub fn list<'a>(object: &'a Json, key: &str) -> Result<&'a Vec<Json>, Fault> {
    under(object, key, "a list", Json::as_array)
}

/// Returns the text under this key.
pub fn text<'a>(object: &'a Json, key: &str) -> Result<&'a str, Fault> {
    under(object, key, "text", Json::as_str)
}
