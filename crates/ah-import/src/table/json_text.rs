//! Parses JSON as programs write it: with Python's numbers, and strictly where a value would be lost.

use std::sync::LazyLock;

use ah_types::strict_json;
use regex::{Captures, Regex};
use serde_json::Value as Json;

/// Parses JSON. Python writes `NaN` and `Infinity`, which JSON does not have.
///
/// # Errors
/// A sentence with the place; also for an object that has a key twice.
pub fn parse(text: &str) -> Result<Json, String> {
    strict_json(text)
        .or_else(|e| without_python_numbers(text).map_or(Err(e), |without| strict_json(&without)))
}

/// Parses a document, which may be the cache of Kernel Tuner before the end of a run: only then it is closed.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_document(text: &str) -> Result<Json, String> {
    let closed = || parse(&format!("{}}}}}", text.trim_end().trim_end_matches(',')));
    parse(text).or_else(|e| closed().map_err(|_| e))
}

/// Writes `null` for `NaN` and `"inf"` for `Infinity` outside strings. Returns `None` if the text has neither.
fn without_python_numbers(text: &str) -> Option<String> {
    // A string is found as a whole, and stays.
    static WORDS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""(?:[^"\\]|\\.)*"|NaN|-?Infinity"#).ok());
    let json = |found: &Captures<'_>| match &found[0] {
        "NaN" => "null".to_owned(),
        "Infinity" => "\"inf\"".to_owned(),
        "-Infinity" => "\"-inf\"".to_owned(),
        string => string.to_owned(),
    };
    let without = WORDS.as_ref()?.replace_all(text, json);
    (without != text).then(|| without.into_owned())
}
