//! Reads the files of tuners and benchmark tools as rows of a table. The defaults of a tool describe its columns, so
//! that few flags are needed.
//!
//! A tool's file has one or more *records*: a JSON document is one record, and so is each JSON line and each row of a
//! CSV table. Adding a tool is one file and one line of [`KNOWN`].

mod aiter;
mod cubecl;
mod document;
mod google_benchmark;
mod helion;
mod helion_log;
mod hyperfine;
mod inductor_mm;
mod inductor_results;
mod kernel_tuner;
mod t4;
mod tokamax;
mod triton;

use std::path::Path;

use ah_types::shown::{listed, quoted};
use serde_json::{Map, Value as Json};

pub use document::{Misfit, NamedRow, Results};

/// A tool's format.
pub struct Tool {
    /// The name in messages.
    pub name: &'static str,
    /// Returns whether a record is of this tool, by keys that only its records have.
    is: fn(&Json) -> bool,
    /// Reads a record.
    pub read: fn(&Json) -> Result<Results, Misfit>,
    /// Completes the rows of all records of a file.
    finish: fn(&Path, &mut Results) -> Result<(), Misfit>,
}

const KNOWN: [Tool; 12] = [
    kernel_tuner::TOOL,
    t4::TOOL,
    google_benchmark::TOOL,
    hyperfine::TOOL,
    triton::TOOL,
    inductor_mm::TOOL,
    inductor_results::TOOL,
    helion::TOOL,
    helion_log::TOOL,
    aiter::TOOL,
    tokamax::TOOL,
    cubecl::TOOL,
];

/// Returns the tool that writes records such as this one.
pub fn find(record: &Json) -> Option<&'static Tool> {
    KNOWN.iter().find(|tool| (tool.is)(record))
}

impl Tool {
    /// Completes the rows of all records of the file at `path`.
    ///
    /// # Errors
    /// [`Misfit`], as its tool does not write such a file.
    pub fn finish(&self, path: &Path, results: &mut Results) -> Result<(), Misfit> {
        (self.finish)(path, results).map_err(|misfit| self.named(misfit))
    }

    /// Returns the misfit with the tool's name.
    pub fn named(&self, misfit: Misfit) -> Misfit {
        Misfit { expected: format!("{} with {}", self.name, misfit.expected), ..misfit }
    }
}

/// Returns the error of a document that no tool writes.
pub fn unknown(document: &Json) -> Misfit {
    let names: Vec<&str> = KNOWN.iter().map(|tool| tool.name).collect();
    let found = match document.as_object() {
        Some(object) => {
            format!("an object with the keys {}", listed(Map::keys(object).map(String::as_str)))
        }
        None => quoted(&document.to_string()),
    };
    Misfit::new(format!("a list of objects, or one of these: {}", names.join(", ")), found)
}

/// Parses JSON as tools write it: Python writes `NaN` and `Infinity`, which JSON does not have.
pub fn parse(text: &str) -> Result<Json, serde_json::Error> {
    serde_json::from_str(text)
        .or_else(|e| without_python_numbers(text).map_or(Err(e), |without| serde_json::from_str(&without)))
}

/// Parses a document, which may be the cache of Kernel Tuner before the end of a run: only then it is closed.
pub fn parse_document(text: &str) -> Result<Json, serde_json::Error> {
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

/// Leaves the rows of a file as its records gave them.
fn as_they_are(_: &Path, _: &mut Results) -> Result<(), Misfit> {
    Ok(())
}
