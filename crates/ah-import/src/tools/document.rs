//! The rows of a tool's file, and functions that the tools' files share.

use ah_types::shown::{listed, quoted};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value as Json};

use super::python_json::parse;
use crate::error::Fault;

/// A row, with its name if it has one.
pub type NamedRow = (Option<String>, Map<String, Json>);

/// The rows of a document, of a line or of a whole file.
#[derive(Debug, Default)]
pub struct Results {
    pub rows: Vec<NamedRow>,
    /// The columns of the features.
    pub features: Vec<String>,
    /// The columns of the choice.
    pub choice: Vec<String>,
}

impl Results {
    /// Adds the rows of the next record, and the columns that only it has.
    pub fn append(&mut self, next: Self) {
        self.rows.extend(next.rows);
        add_new(&mut self.features, &next.features);
        add_new(&mut self.choice, &next.choice);
    }

    /// Checks that this column has the same value in all rows: a log is about one kernel.
    pub fn one_value(&self, column: &str) -> Result<(), Fault> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.rows.iter().filter_map(|(_, row)| row.get(column)?.as_str()) {
            if !names.contains(&name) && names.len() < 10 {
                names.push(name);
            }
        }
        if names.len() < 2 {
            return Ok(());
        }
        Err(misfit(format!("one {column} in all rows (split the file by it)"), listed(names)))
    }

    /// Gives the features without a value the name `None`, as Python writes them, and leaves out the features that have
    /// the same value everywhere, unless all have.
    pub fn drop_constant_features(&mut self) {
        let varying: Vec<String> = std::mem::take(&mut self.features)
            .into_iter()
            .filter(|name| {
                let mut values = Vec::new();
                for (_, row) in &mut self.rows {
                    let value = row.entry(name.clone()).or_insert(Json::Null);
                    if value.is_null() {
                        *value = "None".into();
                    }
                    if values.len() < 2 && !values.contains(value) {
                        values.push(value.clone());
                    }
                }
                self.features.push(name.clone());
                values.len() > 1
            })
            .collect();
        if !varying.is_empty() {
            self.features = varying;
        }
    }
}

/// Returns that a document is not as its tool writes it.
pub fn misfit(expected: impl Into<String>, found: impl Into<String>) -> Fault {
    Fault::new("", expected, found)
}

/// Adds the names that the list does not have yet, each once.
pub fn add_new<'a>(list: &mut Vec<String>, names: impl IntoIterator<Item = &'a String>) {
    let mut known: FxHashSet<String> = list.iter().cloned().collect();
    list.extend(names.into_iter().filter(|name| known.insert((*name).clone())).cloned());
}

/// Returns whether this is an object with all of these keys.
pub fn has(document: &Json, keys: &[&str]) -> bool {
    document.as_object().is_some_and(|object| keys.iter().all(|key| object.contains_key(*key)))
}

/// Returns the list under this key.
pub fn list<'a>(object: &'a Json, key: &str) -> Result<&'a Vec<Json>, Fault> {
    under(object, key, "a list", Json::as_array)
}

/// Returns the object under this key.
pub fn inner<'a>(object: &'a Json, key: &str) -> Result<&'a Map<String, Json>, Fault> {
    under(object, key, "an object", Json::as_object)
}

/// Returns the text under this key.
pub fn text<'a>(object: &'a Json, key: &str) -> Result<&'a str, Fault> {
    under(object, key, "text", Json::as_str)
}

fn under<'a, T>(
    object: &'a Json,
    key: &str,
    kind: &str,
    get: impl Fn(&'a Json) -> Option<T>,
) -> Result<T, Fault> {
    let value = object.get(key).ok_or_else(|| misfit(format!("the key {}", quoted(key)), "none"))?;
    get(value).ok_or_else(|| misfit(format!("{kind} under {}", quoted(key)), quoted(&value.to_string())))
}

/// Checks the major version under `schema_version`; older files have none.
pub fn version(document: &Json, major: &str) -> Result<(), Fault> {
    match document.get("schema_version").and_then(Json::as_str) {
        Some(found) if found.split('.').next() != Some(major) => {
            Err(misfit(format!("schema_version {major}"), quoted(found)))
        }
        _ => Ok(()),
    }
}

/// Returns a number if the text is one: some tools write all values as text.
pub fn typed(text: &str) -> Json {
    let number = text.parse::<i64>().map(Json::from).or_else(|_| text.parse::<f64>().map(Json::from));
    number.ok().filter(|n| !n.is_null()).unwrap_or_else(|| text.into())
}

/// Returns the value, typed if it is text.
pub fn typed_value(value: &Json) -> Json {
    value.as_str().map_or_else(|| value.clone(), typed)
}

/// Returns the object that this text holds as JSON.
pub fn object(text: &str) -> Result<Map<String, Json>, Fault> {
    match parse(text) {
        Ok(Json::Object(object)) => Ok(object),
        _ => Err(misfit("text that is a JSON object", quoted(text))),
    }
}

/// Adds the values of an object to `row`; those of an object inside get its key and a point before theirs. A list
/// becomes its text.
pub fn flatten(prefix: &str, object: &Map<String, Json>, row: &mut Map<String, Json>) {
    for (key, value) in object {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Json::Object(inner) => flatten(&name, inner, row),
            Json::Array(_) => drop(row.insert(name, value.to_string().into())),
            value => drop(row.insert(name, value.clone())),
        }
    }
}

/// Returns the name of a choice with these fields, as the Python package names it. Values are as Python prints them,
/// without `_` and `=`: a value of a name ends at the first `_`.
pub fn structured<'a>(fields: impl Iterator<Item = (&'a str, &'a Json)>) -> String {
    let text = |value: &Json| match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::String(text) => text.clone(),
        value => value.to_string(),
    };
    let fields: Vec<String> =
        fields.map(|(key, value)| format!("{key}={}", text(value).replace(['_', '='], "-"))).collect();
    fields.join("_")
}

/// Returns the whole numbers in text such as `[(64, 128), (128,)]`, one list for each innermost bracket.
pub fn shapes(text: &str) -> Vec<Vec<u64>> {
    let innermost = text.split(['(', '[']).filter_map(|part| part.split([')', ']']).next());
    let numbers = innermost.map(|part| part.split(',').filter_map(|n| n.trim().parse().ok()).collect());
    numbers.filter(|shape: &Vec<u64>| !shape.is_empty()).collect()
}
