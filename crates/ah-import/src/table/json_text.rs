//! Parses JSON as programs write it: with Python's numbers, and strictly where a value would be lost.

use std::borrow::Cow;
use std::sync::LazyLock;

use ah_types::strict_json;
use regex::{Captures, Regex};
use serde_json::Value as Json;

/// Parses JSON. Python writes `NaN` and `Infinity`, which JSON does not have. A whole number that 64 bits do not hold becomes text,
/// because `serde_json` would round it.
///
/// # Errors
/// A sentence with the place; also for an object that has a key twice.
pub fn parse(text: &str) -> Result<Json, String> {
    static LONG: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9]{19}").expect("a regular expression"));
    let parsed = strict_json(text).ok().filter(|_| !LONG.is_match(text));
    parsed.map_or_else(|| strict_json(&plain(text)), Ok)
}

/// Parses a document, which may be the cache of Kernel Tuner before the end of a run: only then it is closed.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_document(text: &str) -> Result<Json, String> {
    let closed = || parse(&format!("{}}}}}", text.trim_end().trim_end_matches(',')));
    parse(text).or_else(|e| closed().map_err(|_| e))
}

/// Writes `null` for `NaN`, `"inf"` for `Infinity`, and a whole number of more than 18 digits as text, outside strings.
fn plain(text: &str) -> Cow<'_, str> {
    // A string is found as a whole, and stays.
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#""(?:[^"\\]|\\.)*"|NaN|-?Infinity|-?[0-9][0-9.eE+-]*"#).expect("a regular expression")
    });
    WORDS.replace_all(text, |found: &Captures<'_>| match &found[0] {
        "NaN" => "null".to_owned(),
        "Infinity" => "\"inf\"".to_owned(),
        "-Infinity" => "\"-inf\"".to_owned(),
        number if number.len() > 18 && number.bytes().all(|b| b == b'-' || b.is_ascii_digit()) => {
            format!("\"{number}\"")
        }
        same => same.to_owned(),
    })
}
