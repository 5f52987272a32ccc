//! Parses JSON as programs write it: with Python's numbers, and strictly where a value would be lost.

use ah_types::strict_json;
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
    const WORDS: [(&str, &str); 3] = [("NaN", "null"), ("-Infinity", "\"-inf\""), ("Infinity", "\"inf\"")];
    let (mut out, mut found, mut in_string) = (String::with_capacity(text.len()), false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = WORDS.iter().find(|(word, _)| !in_string && rest.starts_with(word));
        let length = match (c, word) {
            (_, Some((word, json))) => {
                found = true;
                out.push_str(json);
                rest = &rest[word.len()..];
                continue;
            }
            // An escaped character is one of the string.
            ('\\', _) if in_string => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => c.len_utf8(),
        };
        in_string ^= c == '"';
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    found.then_some(out)
}
