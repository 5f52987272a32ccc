//! Opens tables: one file a format, each with a function that returns a [`Table`].

mod delimited;
mod json;
mod json_text;

use ah_model::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::cell::Table;
use crate::error::bad_file;
use crate::params::{Format, ImportParams};

/// Opens the table in a file.
pub fn open(path: &Path, params: &ImportParams) -> Result<Table, Error> {
    let bytes = ah_model::artefact::open(path).map_err(Error::io(path, "read"))?;
    let mut text: Box<dyn BufRead> = Box::new(BufReader::with_capacity(256 * 1024, bytes));
    match params.format.map_or_else(|| format_of(path), Ok)? {
        // PyTorch writes JSON lines to a .txt, and cubecl to a .log.
        Format::Csv
            if params.format.is_none()
                && text.fill_buf().map_err(Error::io(path, "read"))?.starts_with(b"{") =>
        {
            json::open_lines(path, text, params.rows.as_deref())
        }
        Format::Csv if params.rows.is_some() => {
            Err(Error::parameter("--rows", "tables of JSON", path.display()))
        }
        Format::Csv => delimited::open(path, text),
        Format::Jsonl => json::open_lines(path, text, params.rows.as_deref()),
        Format::Json => json::open_document(path, text, params.rows.as_deref()),
    }
}

/// Returns the format by the ending of a file's name; `.gz` may follow.
fn format_of(path: &Path) -> Result<Format, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("csv" | "tsv" | "tab" | "txt" | "log") => Ok(Format::Csv),
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some("json") => Ok(Format::Json),
        _ => {
            let expected = "a name that ends in .csv, .tsv, .jsonl or .json";
            Err(bad_file(expected, format!("{name:?}")).of_file(path).into())
        }
    }
}
