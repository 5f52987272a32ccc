//! Opens tables: one file a format, each with a function that returns a [`Table`].

mod delimited;
mod folder;
mod json;
mod json_text;
mod pattern;
mod rows;

use ah_model::Error;
use ah_model::artefact::STANDARD_INPUT;
use std::io::{BufRead, BufReader, Cursor, Read as _};
use std::path::Path;

use crate::error::bad_file;
use crate::params::{Format, ImportParams};
use crate::preset::{self, Preset};

pub use rows::{Row, Table};

/// The most bytes of a text's beginning that show its format and its tool.
const MOST_BEGINNING: u64 = 64 * 1024;

/// Opens the table in a file, with the columns of the tool's pattern and of `--name-pattern`.
///
/// # Errors
/// A file that cannot be read, or is no table of the format, or not of the tool that `--tool` names.
pub fn open(path: &Path, params: &ImportParams) -> Result<Table, Error> {
    let mut table = if path.is_dir() { folder::open(path, params)? } else { open_file(path, params)? };
    // The lines that do not fit the tool's pattern are no rows.
    if let Some(lines) = table.preset.line_pattern.clone() {
        table = pattern::split(path, table, Some("line"), &lines, true)?;
    }
    if let Some(names) = &params.name_pattern {
        let column = table.preset.apply(params, &table.columns).name_column;
        table = pattern::split(path, table, column.as_deref(), names, false)?;
    }
    Ok(table)
}

fn open_file(path: &Path, params: &ImportParams) -> Result<Table, Error> {
    let bytes = ah_model::artefact::open(path).map_err(Error::io(path, "read"))?;
    let mut text = BufReader::with_capacity(256 * 1024, bytes);
    let mut beginning = Vec::new();
    text.by_ref().take(MOST_BEGINNING).read_to_end(&mut beginning).map_err(Error::io(path, "read"))?;
    let text: Box<dyn BufRead> = Box::new(Cursor::new(beginning.clone()).chain(text));
    let of_tool = params.tool.as_deref().and_then(Preset::format);
    let format = params.format.or(of_tool).map_or_else(|| format_of(path, &beginning), Ok)?;
    match format {
        Format::Jsonl => return json::open_lines(path, text, params),
        Format::Json => return json::open_document(path, text, params),
        _ if params.rows.is_some() => return Err(Error::parameter("rows", "tables of JSON", path.display())),
        _ => {}
    }
    let preset = preset::find(params, |mark| beginning.starts_with(mark.as_bytes()));
    if format == Format::Csv && preset.is_none() {
        return delimited::open(path, text, params);
    }
    Ok(delimited::open_lines(path, text, preset::found_for(path, params, preset)?))
}

/// The format by the ending of a file's name, before `.gz`, and by the beginning of its text: PyTorch writes JSON lines to a .txt, and
/// cubecl to a .log. In JSON there are lines if the first one is an object.
fn format_of(path: &Path, beginning: &[u8]) -> Result<Format, Error> {
    let mut lines = beginning.split(|b| *b == b'\n');
    let first = lines.next().unwrap_or_default();
    let is_object = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(first).is_ok();
    let is_one_object = !lines.any(|line| line.starts_with(b"{"));
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        _ if path == Path::new(STANDARD_INPUT) => Ok(match first.first() {
            Some(b'{') if is_object => Format::Jsonl,
            Some(b'{' | b'[') => Format::Json,
            _ => Format::Csv,
        }),
        Some("csv" | "tsv" | "tab" | "txt" | "log" | "md") if first.starts_with(b"{") => Ok(Format::Jsonl),
        Some("csv" | "tsv" | "tab" | "txt" | "log" | "md") => Ok(Format::Csv),
        Some("json") if is_one_object || !is_object => Ok(Format::Json),
        Some("jsonl" | "ndjson" | "json") => Ok(Format::Jsonl),
        _ => {
            let expected = "a name that ends in .csv, .tsv, .md, .jsonl or .json";
            Err(bad_file(expected, format!("{name:?}")).of_file(path).into())
        }
    }
}
