//! The results that tuners and benchmark tools write as JSON, as rows of a table. What such a format says of
//! its columns becomes their [`Defaults`], so that few flags are needed.
//!
//! Adding a tool is one file and one line of [`KNOWN`].

mod google_benchmark;
mod hyperfine;
mod kernel_tuner;
mod t4;

use serde_json::{Map, Value as Json};

use super::params::Unit;

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

/// A tool's format.
struct Tool {
    name: &'static str,
    /// A place that only this tool's documents have.
    mark: &'static str,
    read: fn(&Json) -> Result<Results, Misfit>,
}

/// (Expected, found).
pub type Misfit = (String, String);

const KNOWN: [Tool; 4] = [
    Tool { name: "a cache of Kernel Tuner", mark: "/tune_params_keys", read: kernel_tuner::read },
    Tool { name: "T4 results", mark: "/results/0/configuration", read: t4::read },
    Tool { name: "results of Google Benchmark", mark: "/benchmarks/0/name", read: google_benchmark::read },
    Tool { name: "results of hyperfine", mark: "/results/0/command", read: hyperfine::read },
];

/// Reads the document of a known tool.
///
/// # Errors
/// (Expected, found) where it is of none, or not as that tool writes it.
pub fn recognize(document: &Json) -> Result<Results, Misfit> {
    if let Some(tool) = KNOWN.iter().find(|tool| document.pointer(tool.mark).is_some()) {
        return (tool.read)(document)
            .map_err(|(expected, found)| (format!("{}: {expected}", tool.name), found));
    }
    let names: Vec<&str> = KNOWN.iter().map(|tool| tool.name).collect();
    let keys: Vec<&str> = document.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    Err((
        format!("a list of objects, {}", names.join(", or ")),
        format!("an object with the keys {}", keys.join(", ")),
    ))
}

/// The document of a tool that still writes it, or was interrupted: Kernel Tuner ends its cache only at the end.
pub fn mended(document: &str) -> Option<Json> {
    let open = document.trim_end().trim_end_matches(',');
    serde_json::from_str(&format!("{open}}}}}")).ok()
}

/// The object or list under this key.
fn field<'a>(object: &'a Json, key: &str) -> Result<&'a Json, Misfit> {
    object.get(key).ok_or_else(|| (format!("the key {key:?}"), "none".to_owned()))
}

fn list<'a>(object: &'a Json, key: &str) -> Result<&'a Vec<Json>, Misfit> {
    let value = field(object, key)?;
    value
        .as_array()
        .ok_or_else(|| (format!("a list under {key:?}"), super::error::quoted(&value.to_string())))
}

/// A number where the text reads as one: some tools write all values as text.
fn typed(text: &str) -> Json {
    let number = text.parse::<i64>().map(Json::from).or_else(|_| text.parse::<f64>().map(Json::from));
    number.ok().filter(|n| !n.is_null()).unwrap_or_else(|| text.into())
}
