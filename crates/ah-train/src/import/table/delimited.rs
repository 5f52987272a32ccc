//! CSV and similar formats: the header shows whether commas, tabs or semicolons separate the cells.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use ah_types::shown::quoted;
use rustc_hash::FxHashSet;

use super::cell::Cell;
use super::files::text;
use super::rows::Table;
use crate::import::error::{Fault, ImportError, RowNaming, RowPlace, io_error};

/// A text file with a line of names.
pub struct Delimited {
    path: PathBuf,
    columns: Vec<String>,
    reader: csv::Reader<Box<dyn Read>>,
    row: csv::StringRecord,
}

impl Delimited {
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let mut text = text(path)?;
        let mut header = Vec::new();
        text.read_until(b'\n', &mut header).map_err(io_error(path, "read"))?;
        let delimiter = delimiter(&header);
        let all: Box<dyn Read> = Box::new(std::io::Cursor::new(header).chain(text));
        let mut reader =
            csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::Headers).from_reader(all);
        let columns = match reader.headers() {
            Ok(header) => header.iter().map(str::to_owned).collect::<Vec<_>>(),
            Err(e) => return Err(broken(path, e)),
        };
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
        Ok(Self { path: path.to_owned(), columns, reader, row: csv::StringRecord::new() })
    }
}

impl Table for Delimited {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn advance(&mut self) -> Result<bool, ImportError> {
        self.reader.read_record(&mut self.row).map_err(|e| broken(&self.path, e))
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        Cell::untyped(self.row.get(column).unwrap_or_default())
    }

    fn number(&self) -> u64 {
        self.row.position().map_or(1, csv::Position::line)
    }

    fn counted(&self) -> RowNaming {
        RowNaming::Lines
    }
}

/// Returns the most frequent of the usual delimiters in the header.
fn delimiter(header: &[u8]) -> u8 {
    let count = |d: &u8| header.iter().filter(|b| *b == d).count();
    // The last of equally frequent ones wins: a comma if there is none.
    [b';', b'\t', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

fn broken(path: &Path, error: csv::Error) -> ImportError {
    let number = error.position().map_or(1, csv::Position::line);
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
    let place = RowPlace { path: path.to_owned(), number, counted: RowNaming::Lines };
    ImportError::Row { place, fault: Box::new(fault) }
}
