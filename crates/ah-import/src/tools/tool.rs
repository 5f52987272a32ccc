//! What the readers of all tools share.

use ah_model::Fault;
use ah_model::shown::quoted;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::error::bad_file;

/// An object of JSON: values by their keys.
pub type Object = Map<String, Json>;

/// A row, and its name if it has one.
pub type NamedRow = (Option<String>, Object);

/// Reads the part of a record that we need.
pub fn part<'a, T: Deserialize<'a>>(record: &'a Json) -> Result<T, Fault> {
    T::deserialize(record).map_err(|error| {
        bad_file("the keys and values that it writes", format!("{} ({error})", quoted(&record.to_string())))
    })
}
