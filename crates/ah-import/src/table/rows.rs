//! A table: the names of its columns, and its rows, which are read one by one.

use std::collections::BTreeMap;

use crate::cell::Cell;
use crate::error::{ImportError, RowNumber};
use crate::params::Unit;

/// A table, whatever its format.
pub struct Table {
    pub columns: Vec<String>,
    pub defaults: Defaults,
    /// The time limit of a run in milliseconds, where the format has one.
    pub timeout_ms: Option<f64>,
    /// What computing the features takes, where the format has it.
    pub feature_times: FeatureTimes,
    /// What is left out, in sentences for the user.
    pub notes: Vec<String>,
    pub rows: Box<dyn Iterator<Item = Result<Row, ImportError>>>,
}

impl Table {
    /// Returns a table whose columns have no roles of their own.
    pub fn new(columns: Vec<String>, rows: Box<dyn Iterator<Item = Result<Row, ImportError>>>) -> Self {
        Self {
            columns,
            defaults: Defaults::default(),
            timeout_ms: None,
            feature_times: FeatureTimes::default(),
            notes: Vec::new(),
            rows,
        }
    }
}

/// What computing the features takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureTimes {
    /// Mean milliseconds, by the name of a feature or of a group.
    pub ms: BTreeMap<String, f64>,
    /// The features of each group.
    pub groups: BTreeMap<String, Vec<String>>,
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
    /// The unit of the times.
    pub unit: Unit,
    /// Texts in place of a time that mean that the choice failed.
    pub failed: &'static [&'static str],
}
