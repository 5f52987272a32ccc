//! A table, whatever its format.

use ah_model::{Error, RowNumber};

use crate::cell::Cell;
use crate::preset::Preset;

/// A table, whatever its format: the names of its columns, and its rows, which are read one by one.
pub struct Table {
    pub columns: Vec<String>,
    /// The preset of the tool that wrote the file; one without flags if no known tool did.
    pub preset: Preset,
    pub rows: Box<dyn Iterator<Item = Result<Row, Error>>>,
}

/// A row: a cell a column.
pub struct Row {
    pub number: RowNumber,
    pub cells: Vec<Cell>,
}
