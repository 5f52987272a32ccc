//! JSON: an object a row, in lines or in one document.

use std::io::{BufRead, Read as _};
use std::path::Path;

use ah_types::shown::{quoted, reason};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value as Json};

use super::rows::{Defaults, Row, Table};
use crate::cell::Cell;
use crate::error::{Fault, ImportError, RowNumber, io_error};
use crate::tools::{self, NamedRow, Results, Tool};

/// The columns of JSON lines are those of this many first rows, which are held.
const ROWS_FOR_COLUMNS: usize = 1000;

type JsonRow = (RowNumber, Map<String, Json>);

/// Opens a text with a JSON object a line: a row, or a record of a tool.
pub fn open_lines(path: &Path, text: Box<dyn BufRead>) -> Result<Table, ImportError> {
    let file = path.to_owned();
    let mut rows = (1..).zip(text.lines()).filter_map(move |(number, line)| match line {
        Err(e) => Some(Err(io_error(&file, "read")(e))),
        Ok(line) if line.trim().is_empty() => None,
        Ok(line) => Some(
            object(&line)
                .map_err(|fault| fault.at(&file, RowNumber::Line(number)))
                .map(|row| (RowNumber::Line(number), row)),
        ),
    });
    let mut first: Vec<_> = rows.by_ref().take(1).collect();
    if let Some(Ok((number, row))) = first.first_mut() {
        let record = Json::Object(std::mem::take(row));
        if let Some(tool) = tools::find(&record) {
            let rows = rows.map(|row| row.map(|(number, row)| (number, Json::Object(row))));
            return open_records(path, tool, std::iter::once(Ok((number.clone(), record))).chain(rows));
        }
        if let Json::Object(record) = record {
            *row = record;
        }
    }
    first.extend(rows.by_ref().take(ROWS_FOR_COLUMNS - 1));
    let columns = columns(first.iter().flatten());
    Ok(table(columns, Defaults::default(), first.into_iter().chain(rows)))
}

fn object(line: &str) -> Result<Map<String, Json>, Fault> {
    let found = match tools::parse(line) {
        Ok(Json::Object(object)) => return Ok(object),
        Ok(_) => quoted(line),
        Err(e) => format!("{} ({})", quoted(line), reason(&e.to_string())),
    };
    Err(Fault::new("", "a JSON object", found))
}

/// Opens the records of a tool. They are all held: some tools' rows are complete only at the end.
pub fn open_records(
    path: &Path,
    tool: &Tool,
    records: impl Iterator<Item = Result<(RowNumber, Json), ImportError>>,
) -> Result<Table, ImportError> {
    let (mut all, mut numbers, mut bad) = (Results::default(), Vec::new(), Vec::new());
    for record in records {
        let read = record.and_then(|(number, record)| match (tool.read)(&record) {
            Ok(results) => Ok((number, results)),
            Err(fault) => Err(tool.named(fault).at(path, number)),
        });
        match read {
            Ok((number, results)) => {
                numbers.extend(std::iter::repeat_n(number, results.rows.len()));
                all.append(results);
            }
            Err(e) => bad.push(e),
        }
    }
    // Without rows, the first bad record is the reason.
    if all.rows.is_empty() && !bad.is_empty() {
        return Err(bad.remove(0));
    }
    let defaults = tool.complete(path, &mut all).map_err(|fault| unlike(path, fault))?;
    let rows: Vec<JsonRow> =
        numbers.into_iter().zip(all.rows).map(|(number, (_, row))| (number, row)).collect();
    Ok(table(columns(&rows), defaults, bad.into_iter().map(Err).chain(rows.into_iter().map(Ok))))
}

/// Returns the error of a file that is not as its tool writes it.
fn unlike(path: &Path, fault: Fault) -> ImportError {
    ImportError::unreadable(path, &fault.expected, fault.found)
}

/// Opens a JSON document: a list of objects, or the results of a tool.
pub fn open_document(path: &Path, mut text: Box<dyn BufRead>) -> Result<Table, ImportError> {
    let mut document = String::new();
    text.read_to_string(&mut document).map_err(io_error(path, "read"))?;
    let parsed = tools::parse_document(&document);
    drop(document);
    let parsed =
        parsed.map_err(|e| ImportError::unreadable(path, "a JSON document", reason(&e.to_string())))?;
    let (rows, defaults) = match (tools::find(&parsed), parsed) {
        (Some(tool), document) => {
            let mut results = (tool.read)(&document).map_err(|fault| unlike(path, tool.named(fault)))?;
            let defaults = tool.complete(path, &mut results).map_err(|fault| unlike(path, fault))?;
            (results.rows, defaults)
        }
        (None, Json::Array(rows)) => {
            let row = |row: Json| match row {
                Json::Object(row) => Ok((None, row)),
                other => {
                    Err(ImportError::unreadable(path, "a list of JSON objects", quoted(&other.to_string())))
                }
            };
            (rows.into_iter().map(row).collect::<Result<_, _>>()?, Defaults::default())
        }
        (None, document) => return Err(unlike(path, tools::unknown(&document))),
    };
    let numbered = |(number, (name, row)): (u64, NamedRow)| {
        (name.map_or(RowNumber::Row(number), |name| RowNumber::Named(number, name)), row)
    };
    let rows: Vec<JsonRow> = (1..).zip(rows).map(numbered).collect();
    Ok(table(columns(&rows), defaults, rows.into_iter().map(Ok)))
}

/// Returns the names in the order in which they first occur.
fn columns<'a>(rows: impl IntoIterator<Item = &'a JsonRow>) -> Vec<String> {
    let mut known = FxHashSet::default();
    let names = rows.into_iter().flat_map(|(_, row)| row.keys());
    names.filter(|name| known.insert(name.as_str())).cloned().collect()
}

fn table(
    columns: Vec<String>,
    defaults: Defaults,
    rows: impl Iterator<Item = Result<JsonRow, ImportError>> + 'static,
) -> Table {
    let names = columns.clone();
    let rows = rows.map(move |row| {
        let (number, mut row) = row?;
        let cells = names.iter().map(|name| row.remove(name).map_or(Cell::Missing, cell)).collect();
        Ok(Row { number, cells })
    });
    Table { defaults, ..Table::new(columns, Box::new(rows)) }
}

fn cell(value: Json) -> Cell {
    match value {
        Json::Null => Cell::Missing,
        Json::Bool(b) => Cell::Truth(b),
        Json::String(text) => Cell::text(text),
        Json::Number(n) => n.as_f64().map_or(Cell::Missing, Cell::number),
        Json::Array(list) => Cell::List(list.into_iter().map(cell).collect()),
        object => Cell::Other(quoted(&object.to_string())),
    }
}
