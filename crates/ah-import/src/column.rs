//! The columns that have a role in an import.

use indexmap::IndexMap;

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
    /// The column's cell in a row.
    pub fn cell<'c>(&self, cells: &'c [Cell]) -> &'c Cell {
        cells[self.index].at(&self.path)
    }
}

/// Whether a column has this name, or a path of keys that ends with it.
pub fn is_named(column: &str, name: &str) -> bool {
    column.strip_suffix(name).is_some_and(|keys| keys.is_empty() || keys.ends_with('.'))
}

/// Columns of a table, each with its position in `known`, which has the columns of all tables by name.
pub fn positions<'c, T>(
    known: &mut IndexMap<String, T>,
    columns: impl Iterator<Item = &'c Column>,
    new: impl Fn(&str) -> T,
) -> Vec<(&'c Column, usize)> {
    let position = |column: &'c Column| {
        let entry = known.entry(column.name.clone());
        let at = entry.index();
        entry.or_insert_with(|| new(&column.name));
        (column, at)
    };
    columns.map(position).collect()
}
