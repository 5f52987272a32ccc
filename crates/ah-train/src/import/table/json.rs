//! JSON: an object a row, in lines or in one document.

use std::borrow::Cow;
use std::io::{BufRead, Lines};
use std::path::{Path, PathBuf};

use ah_types::shown::{quoted, reason};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value as Json};

use super::cell::Cell;
use super::files::text;
use super::rows::Table;
use crate::import::benchmarks::{self, Defaults, NamedRow, Results};
use crate::import::error::{Fault, ImportError, RowNaming, RowPlace, io_error};

/// A JSON object a line. The columns are those of the first thousand rows.
pub struct JsonLines {
    path: PathBuf,
    columns: Vec<String>,
    lines: Lines<Box<dyn BufRead>>,
    row: Map<String, Json>,
    number: u64,
}

const ROWS_FOR_COLUMNS: usize = 1000;

impl JsonLines {
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let rewound = |columns| -> Result<Self, ImportError> {
            let lines = text(path)?.lines();
            Ok(Self { path: path.to_owned(), columns, lines, row: Map::new(), number: 0 })
        };
        let mut table = rewound(Vec::new())?;
        let mut columns = Columns::default();
        for _ in 0..ROWS_FOR_COLUMNS {
            match table.advance() {
                Ok(true) => columns.add(&table.row),
                Ok(false) => break,
                // The row is read again, and then reported or skipped.
                Err(ImportError::Row { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        rewound(columns.names)
    }
}

impl Table for JsonLines {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn advance(&mut self) -> Result<bool, ImportError> {
        for line in self.lines.by_ref() {
            let line = line.map_err(io_error(&self.path, "read"))?;
            self.number += 1;
            if line.trim().is_empty() {
                continue;
            }
            self.row = serde_json::from_str(&line).map_err(|e| {
                let place =
                    RowPlace { path: self.path.clone(), number: self.number, counted: RowNaming::Lines };
                let fault = Fault::new(
                    "",
                    "a JSON object",
                    format!("{} ({})", quoted(&line), reason(&e.to_string())),
                );
                ImportError::Row { place, fault: Box::new(fault) }
            })?;
            return Ok(true);
        }
        Ok(false)
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        cell(self.row.get(&self.columns[column]))
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn counted(&self) -> RowNaming {
        RowNaming::Lines
    }
}

/// A JSON document in memory: a list of objects, or the results of a tool.
pub struct JsonRows {
    columns: Vec<String>,
    rows: Vec<NamedRow>,
    defaults: Defaults,
    /// From 1; 0 before the first row.
    current: usize,
}

impl JsonRows {
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let mut document = String::new();
        text(path)?.read_to_string(&mut document).map_err(io_error(path, "read"))?;
        let parsed = serde_json::from_str(&document).or_else(|e| benchmarks::mended(&document).ok_or(e));
        let parsed =
            parsed.map_err(|e| ImportError::unreadable(path, "a JSON document", reason(&e.to_string())))?;
        let Results { rows, defaults } = match parsed {
            Json::Array(rows) => listed(rows)
                .map_err(|found| ImportError::unreadable(path, "a list of JSON objects", found))?,
            document => benchmarks::recognize(&document)
                .map_err(|misfit| ImportError::unreadable(path, &misfit.expected, misfit.found))?,
        };
        let mut columns = Columns::default();
        for (_, row) in &rows {
            columns.add(row);
        }
        Ok(Self { columns: columns.names, rows, defaults, current: 0 })
    }
}

fn listed(rows: Vec<Json>) -> Result<Results, String> {
    let row = |row: Json| match row {
        Json::Object(row) => Ok((None, row)),
        other => Err(quoted(&other.to_string())),
    };
    Ok(Results { rows: rows.into_iter().map(row).collect::<Result<_, _>>()?, defaults: Defaults::default() })
}

impl Table for JsonRows {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn advance(&mut self) -> Result<bool, ImportError> {
        self.current += 1;
        Ok(self.current <= self.rows.len())
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        cell(self.rows[self.current - 1].1.get(&self.columns[column]))
    }

    fn number(&self) -> u64 {
        self.current as u64
    }

    fn counted(&self) -> RowNaming {
        match self.rows.get(self.current.wrapping_sub(1)) {
            Some((Some(name), _)) => RowNaming::Named(name.clone()),
            _ => RowNaming::Rows,
        }
    }

    fn defaults(&self) -> Defaults {
        self.defaults.clone()
    }
}

/// The names in the order in which they first occur.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    known: FxHashSet<String>,
}

impl Columns {
    fn add(&mut self, row: &Map<String, Json>) {
        for name in row.keys() {
            if !self.known.contains(name) {
                self.known.insert(name.clone());
                self.names.push(name.clone());
            }
        }
    }
}

fn cell(value: Option<&Json>) -> Cell<'_> {
    match value {
        None | Some(Json::Null) => Cell::Missing,
        Some(Json::Bool(b)) => Cell::Truth(*b),
        Some(Json::String(text)) => match Cell::untyped(text) {
            Cell::Untyped(_) => Cell::Name(Cow::Borrowed(text)),
            missing => missing,
        },
        Some(Json::Number(n)) => n.as_f64().map_or(Cell::Missing, Cell::number),
        Some(Json::Array(list)) => Cell::List(list.iter().map(|v| cell(Some(v))).collect()),
        Some(object) => Cell::Other(quoted(&object.to_string())),
    }
}
