//! The columns that have a role in an import.

use crate::cell::Cell;
use crate::number::Decimal;

/// A column by its position and name. The values of `--set` are further columns behind those of the table.
#[derive(Clone, Debug)]
pub struct Column {
    pub index: usize,
    /// The place in the lists that the column holds: `result.0` is the first value of each list in `result`.
    pub path: Vec<usize>,
    pub name: String,
    /// Its values are names, even if they read as numbers.
    pub categorical: bool,
    pub decimal: Option<Decimal>,
}

impl Column {
    /// Returns the column's cell in a row.
    pub fn cell<'c>(&self, cells: &'c [Cell]) -> &'c Cell {
        cells[self.index].at(&self.path)
    }
}

/// Returns whether a column has this name, or a path of keys that ends with it.
pub fn is_named(column: &str, name: &str) -> bool {
    column.strip_suffix(name).is_some_and(|keys| keys.is_empty() || keys.ends_with('.'))
}
