//! The trait [`Table`].

use std::path::Path;

use super::cell::Cell;
use crate::import::benchmarks::Defaults;
use crate::import::error::{ImportError, RowNaming, RowPlace};

/// A table, read row by row.
pub trait Table {
    /// Returns the names of the columns.
    fn columns(&self) -> &[String];

    /// Goes to the next row; returns false at the end.
    fn advance(&mut self) -> Result<bool, ImportError>;

    /// Returns a cell of the current row.
    fn cell(&self, column: usize) -> Cell<'_>;

    /// Returns the number of the current row, as `counted` counts.
    fn number(&self) -> u64;

    /// Returns how rows are counted or named.
    fn counted(&self) -> RowNaming;

    /// Returns the roles that the format gives to its columns.
    fn defaults(&self) -> Defaults {
        Defaults::default()
    }
}

/// Returns the place of a table's current row.
pub fn place(table: &dyn Table, path: &Path) -> RowPlace {
    RowPlace { path: path.to_owned(), number: table.number(), counted: table.counted() }
}
