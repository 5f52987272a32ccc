//! The rows of a document, what its format says of their columns, and the parts that formats share.

use serde_json::{Map, Value as Json};

use crate::import::error::quoted;
use crate::import::params::Unit;

/// What a format says of its columns. A flag overrides each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// The features; a column that a flag names for the choice is none.
    pub features: Vec<String>,
    /// The columns of the choice, but for those that a flag names as features.
    pub choice: Vec<String>,
    /// The column of the times.
    pub time: Vec<String>,
    /// The unit of the times.
    pub unit: Unit,
    /// Texts in place of a time by which the format says that the choice failed.
    pub failed: &'static [&'static str],
}

/// A row, with its name where it has one.
pub type NamedRow = (Option<String>, Map<String, Json>);

/// The rows of a document.
#[derive(Debug)]
pub struct Results {
    pub rows: Vec<NamedRow>,
    pub defaults: Defaults,
}

/// (Expected, found).
pub type Misfit = (String, String);

/// The object or list under this key.
pub fn field<'a>(object: &'a Json, key: &str) -> Result<&'a Json, Misfit> {
    object.get(key).ok_or_else(|| (format!("the key {key:?}"), "none".to_owned()))
}

pub fn list<'a>(object: &'a Json, key: &str) -> Result<&'a Vec<Json>, Misfit> {
    let value = field(object, key)?;
    value.as_array().ok_or_else(|| (format!("a list under {key:?}"), quoted(&value.to_string())))
}

/// A number where the text reads as one: some tools write all values as text.
pub fn typed(text: &str) -> Json {
    let number = text.parse::<i64>().map(Json::from).or_else(|_| text.parse::<f64>().map(Json::from));
    number.ok().filter(|n| !n.is_null()).unwrap_or_else(|| text.into())
}
