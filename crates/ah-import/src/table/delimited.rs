//! CSV and similar formats: the header shows whether commas, tabs or semicolons separate the cells.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use ah_types::shown::quoted;
use rustc_hash::FxHashSet;
use serde_json::Value as Json;

use super::json::open_records;
use super::rows::{Row, Table};
use crate::cell::Cell;
use crate::error::{Fault, ImportError, RowNumber, io_error};
use crate::tools;

/// Opens a text with a line of names.
pub fn open(path: &Path, mut text: Box<dyn BufRead>) -> Result<Table, ImportError> {
    let mut header = Vec::new();
    text.read_until(b'\n', &mut header).map_err(io_error(path, "read"))?;
    let delimiter = delimiter(&header);
    let all = std::io::Cursor::new(header).chain(text);
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::Headers).from_reader(all);
    let header = reader.headers().map_err(|e| broken(path, e))?;
    let columns: Vec<String> = header.iter().map(str::to_owned).collect();
    if columns.iter().all(String::is_empty) {
        return Err(ImportError::unreadable(path, "a line of column names", "nothing"));
    }
    let mut known = FxHashSet::default();
    if let Some(name) = columns.iter().find(|name| !name.is_empty() && !known.insert(name.as_str())) {
        return Err(ImportError::Unreadable {
            path: path.to_owned(),
            expected: "distinct columns".to_owned(),
            found: format!("{} twice", quoted(name)),
            hint: "rename one",
        });
    }
    let record = |values: Vec<Json>| Json::Object(columns.iter().cloned().zip(values).collect());
    if let Some(tool) = tools::find(&record(vec![Json::Null; columns.len()])) {
        let records = rows(path.to_owned(), reader).map(|row| {
            let Row { number, cells } = row?;
            let text = |cell: &Cell| cell.as_text().map_or(Json::Null, Json::from);
            Ok((number, record(cells.iter().map(text).collect())))
        });
        return open_records(path, tool, records);
    }
    let rows = Box::new(rows(path.to_owned(), reader));
    Ok(Table::new(columns, rows))
}

fn rows(path: PathBuf, mut reader: csv::Reader<impl Read>) -> impl Iterator<Item = Result<Row, ImportError>> {
    let mut record = csv::StringRecord::new();
    std::iter::from_fn(move || match reader.read_record(&mut record) {
        Ok(false) => None,
        Ok(true) => {
            let number = RowNumber::Line(record.position().map_or(1, csv::Position::line));
            Some(Ok(Row { number, cells: record.iter().map(Cell::untyped).collect() }))
        }
        Err(e) => Some(Err(broken(&path, e))),
    })
}

/// Returns the most frequent of the usual delimiters in the header.
fn delimiter(header: &[u8]) -> u8 {
    let count = |d: &u8| header.iter().filter(|b| *b == d).count();
    // The last of equally frequent ones wins: a comma if there is none.
    [b';', b'\t', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

fn broken(path: &Path, error: csv::Error) -> ImportError {
    let number = RowNumber::Line(error.position().map_or(1, csv::Position::line));
    let fault = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            Fault::new("", format!("{expected_len} fields"), len.to_string())
        }
        csv::ErrorKind::Utf8 { err, .. } => {
            Fault::new("", "text in UTF-8", format!("another byte in field {}", err.field() + 1))
        }
        _ => {
            let source = match error.into_kind() {
                csv::ErrorKind::Io(source) => source,
                kind => std::io::Error::other(format!("{kind:?}")),
            };
            return io_error(path, "read")(source);
        }
    };
    fault.at(path, number)
}
