//! The rows of a tool's document, and functions that the tools' files share.

use ah_types::shown::quoted;
use serde_json::{Map, Value as Json};

use crate::table::Defaults;

/// A row, with its name if it has one.
pub type NamedRow = (Option<String>, Map<String, Json>);

/// The rows of a document.
#[derive(Debug)]
pub struct Results {
    pub rows: Vec<NamedRow>,
    pub defaults: Defaults,
}

/// A document is not as its tool writes it.
#[derive(Debug)]
pub struct Misfit {
    pub expected: String,
    pub found: String,
}

impl Misfit {
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { expected: expected.into(), found: found.into() }
    }
}

/// Returns the object or list under this key.
pub fn field<'a>(object: &'a Json, key: &str) -> Result<&'a Json, Misfit> {
    object.get(key).ok_or_else(|| Misfit::new(format!("the key {}", quoted(key)), "none"))
}

pub fn list<'a>(object: &'a Json, key: &str) -> Result<&'a Vec<Json>, Misfit> {
    let value = field(object, key)?;
    value
        .as_array()
        .ok_or_else(|| Misfit::new(format!("a list under {}", quoted(key)), quoted(&value.to_string())))
}

/// Returns a number if the text is one: some tools write all values as text.
pub fn typed(text: &str) -> Json {
    let number = text.parse::<i64>().map(Json::from).or_else(|_| text.parse::<f64>().map(Json::from));
    number.ok().filter(|n| !n.is_null()).unwrap_or_else(|| text.into())
}
