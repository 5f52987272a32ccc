//! A table: the names of its columns, and its rows, which are read one by one.

use ah_types::RowNumber;

use crate::cell::Cell;
use crate::error::ImportError;
use crate::params::Unit;

/// A table, whatever its format: the names of its columns, and its rows, which are read one by one.
pub struct Table {
    pub columns: Vec<String>,
    pub defaults: Defaults,
    pub rows: Box<dyn Iterator<Item = Result<Row, ImportError>>>,
}

/// A row: a cell a column.
pub struct Row {
    pub number: RowNumber,
    pub cells: Vec<Cell>,
}

/// The roles that a format gives to its columns. A flag overrides each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// The features, without a column that a flag names for the choice.
    pub features: Vec<String>,
    /// The columns of the choice, without those that a flag names as features.
    pub choice: Vec<String>,
    /// The column of the times.
    pub time: Vec<String>,
    /// The unit of the times, where the format has one.
    pub unit: Option<Unit>,
    /// Texts in place of a time that mean that the choice failed.
    pub failed: &'static [&'static str],
}
