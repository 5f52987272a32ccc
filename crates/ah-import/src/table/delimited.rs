//! CSV and similar formats: the header shows whether commas, tabs or semicolons separate the cells.

use std::io::{BufRead, Read};
use std::path::Path;

use ah_model::shown::quoted;
use ah_model::{Error, Fault};
use ah_types::csv_line;
use rustc_hash::FxHashSet;

use crate::cell::{Cell, Row, Table};
use crate::error::{bad_file, bad_row};
use crate::tools::Defaults;

/// The most bytes of the line of names.
const MOST_HEADER: u64 = 64 << 20;

/// Opens a text with a line of names.
pub fn open(path: &Path, mut text: Box<dyn BufRead>) -> Result<Table, Error> {
    let mut header = Vec::new();
    let read = text.by_ref().take(MOST_HEADER).read_until(b'\n', &mut header);
    if read.map_err(Error::io(path, "read"))? as u64 == MOST_HEADER {
        let found = format!("a first line of {} MiB", MOST_HEADER >> 20);
        return Err(bad_file("a line of column names", found).of_file(path).into());
    }
    let (delimiter, crlf) = (delimiter(&header), header.ends_with(b"\r\n"));
    let all = std::io::Cursor::new(header).chain(text);
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::Headers).from_reader(all);
    let header = reader.headers().map_err(|e| broken(path, e, crlf))?;
    let columns: Vec<String> = header.iter().map(str::to_owned).collect();
    if columns.iter().all(String::is_empty) {
        return Err(bad_file("a line of column names", "nothing").of_file(path).into());
    }
    let mut known = FxHashSet::default();
    if let Some(name) = columns.iter().find(|name| !name.is_empty() && !known.insert(name.as_str())) {
        let found = format!("{} twice", quoted(name));
        return Err(Fault::new("distinct columns", found, "rename one").of_file(path).into());
    }
    let (path, mut record) = (path.to_owned(), csv::StringRecord::new());
    let rows = std::iter::from_fn(move || match reader.read_record(&mut record) {
        Ok(false) => None,
        Ok(true) => {
            let number = csv_line(record.position(), crlf);
            Some(Ok(Row { number, cells: record.iter().map(Cell::from).collect() }))
        }
        Err(e) => Some(Err(broken(&path, e, crlf))),
    });
    Ok(Table { columns, defaults: Defaults::default(), rows: Box::new(rows) })
}

/// Returns the most frequent of the usual delimiters in the header.
fn delimiter(header: &[u8]) -> u8 {
    let count = |d: &u8| header.iter().filter(|b| *b == d).count();
    // The last of equally frequent ones wins: a comma if there is none.
    [b';', b'\t', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

fn broken(path: &Path, error: csv::Error, crlf: bool) -> Error {
    let number = csv_line(error.position(), crlf);
    let fault = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            bad_row(format!("{expected_len} fields"), len.to_string())
        }
        csv::ErrorKind::Utf8 { err, .. } => {
            let mut fault = bad_row("text in UTF-8", format!("another byte in field {}", err.field() + 1));
            fault.hint = format!("convert the table (iconv -f UTF-16 -t UTF-8), or {}", fault.hint);
            fault
        }
        _ => {
            let source = match error.into_kind() {
                csv::ErrorKind::Io(source) => source,
                kind => std::io::Error::other(format!("{kind:?}")),
            };
            return Error::io(path, "read")(source);
        }
    };
    fault.at(path, number).into()
}
