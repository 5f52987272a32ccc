//! One row of a table as an input, a choice and its timings.

use ah_model::shown::{listed, quoted};
use ah_model::{Fault, FeatureKind};

use crate::cell::{Cell, truth};
use crate::column::Column;
use crate::condition::Condition;
use crate::error::{bad_row, bad_row_or};
use crate::quantity::Quantity;
use crate::roles::Roles;
use crate::times::{FAILED, SeenTimes, TimeColumn, TimeReader, Timing};
use crate::unit::Unit;

/// Separates the texts of an input's features, which never contain it.
pub const SEPARATOR: &str = "\n";

/// One row of a table, and what the rows before it have shown. Its buffers are kept from row to row.
#[derive(Debug, Default)]
pub struct ReadRow {
    pub seen: SeenTimes,
    /// The texts of the features in the log, joined by [`SEPARATOR`]; nothing for a missing value.
    pub input: String,
    /// The choice, or in a wide table one a column, with its timings.
    pub choices: Vec<(String, Vec<Timing>)>,
}

impl Roles {
    /// Whether the row is to be read, by `--where`.
    pub fn is_wanted(&self, cells: &[Cell]) -> bool {
        self.conditions.iter().all(|condition| condition.holds(condition.column.cell(cells)))
    }

    /// Reads a row.
    pub fn read(&self, cells: &[Cell], row: &mut ReadRow) -> Result<(), Fault> {
        row.input.clear();
        for (at, column) in self.features.iter().enumerate() {
            row.input.push_str(if at > 0 { SEPARATOR } else { "" });
            // Nothing for a missing value.
            if !matches!(column.cell(cells), Cell::Missing(_)) {
                write(column, cells, "a feature", &mut row.input)?;
            }
        }
        // In a wide table each column of times is a choice, in any other one all are repetitions.
        row.choices.resize_with(if self.is_wide() { self.times.len() } else { 1 }, Default::default);
        row.choices.iter_mut().for_each(|(_, timings)| timings.clear());
        for (at, time) in self.times.iter().enumerate() {
            let quantity = self.quantity_of(time, cells)?;
            let (name, timings) = &mut row.choices[if self.is_wide() { at } else { 0 }];
            if self.is_wide() {
                name.clone_from(&time.choice);
            } else if at == 0 {
                name_choice(&self.choice, cells, name)?;
            }
            let cell = time.column.cell(cells);
            let before = timings.len();
            let states = |condition: &Condition| states_of_runs(condition.column.cell(cells), cell);
            let fails = |of: &Condition| states(of).is_none() && of.holds(of.column.cell(cells));
            if self.failed_where.iter().any(fails) {
                timings.push(FAILED);
                continue;
            }
            let mut reader = TimeReader { params: &self.params, column: time, quantity, seen: &mut row.seen };
            reader.read(cell, timings).map_err(|fault| fault.in_column(&time.column.name))?;
            for condition in &self.failed_where {
                let states = states(condition).into_iter().flatten();
                for (timing, state) in timings[before..].iter_mut().zip(states) {
                    if condition.holds(state) {
                        *timing = FAILED;
                    }
                }
            }
        }
        Ok(())
    }

    /// The quantity of a column's times in a row. In the files of Google Benchmark and JMH the rows differ.
    fn quantity_of(&self, time: &TimeColumn, cells: &[Cell]) -> Result<Quantity, Fault> {
        let default = || match &time.named {
            Some(named) => named.clone(),
            None if self.params.higher_is_better => Quantity::any_rate(),
            None => Quantity::Time(Unit::MS),
        };
        let Some(column) = &self.unit else { return Ok(default()) };
        let cell = column.cell(cells);
        match (cell.as_text().and_then(Quantity::of_unit), &time.named) {
            // The unit is that of another column.
            (Some(Quantity::Time(_)), Some(named @ Quantity::Rate(_))) => Ok(named.clone()),
            (Some(found), _) => {
                let hint = "leave the flag out, and the times of each row are taken in its own unit; or keep some rows with --where";
                let agrees = self.params.agrees(time, &found, hint);
                agrees.map(|()| found).map_err(|fault| fault.in_column(&column.name))
            }
            (None, None) if !self.params.higher_is_better => {
                let hint = "name the unit of all times with --unit, or --higher-is-better for rates";
                let expected = "a unit of time (ns, us, ms, s …) or of a rate (ops/s, GB/s …)";
                Err(Fault::new(expected, cell.shown(), hint).in_column(&column.name))
            }
            (None, _) => Ok(default()),
        }
    }
}

/// The states of the runs in a list of times: a list of the same length. Anything else is the state of the row.
fn states_of_runs<'c>(states: &'c Cell, times: &Cell) -> Option<&'c [Cell]> {
    match (states, times) {
        (Cell::List(states), Cell::List(times)) if states.len() == times.len() => Some(&**states),
        _ => None,
    }
}

/// Adds the value of a column to a text of the log. `role` is its part in the row.
fn write(column: &Column, cells: &[Cell], role: &str, text: &mut String) -> Result<FeatureKind, Fault> {
    let cell = column.cell(cells);
    let fault =
        |expected| bad_row(format!("{expected}, as it is {role}"), cell.shown()).in_column(&column.name);
    cell.write(column.categorical, column.decimal, text).map_err(fault)
}

/// Writes the name of the row's choice: the value of the only column of names, else `KEY=VALUE_KEY=VALUE`
/// without the keys that have no value.
fn name_choice(columns: &[Column], cells: &[Cell], name: &mut String) -> Result<(), Fault> {
    name.clear();
    // Alone, `None` is a name as any other.
    let is_absent = |cell: &Cell| cell.is_missing() && (columns.len() > 1 || cell.as_text().is_none());
    for column in columns.iter().filter(|column| !is_absent(column.cell(cells))) {
        let mut value = String::new();
        match write(column, cells, "part of the choice", &mut value)? {
            FeatureKind::Categorical if columns.len() == 1 => name.push_str(truth(&value)),
            _ if columns.len() > 1 && (value.contains(['_', '=']) || column.name.contains('=')) => {
                let expected =
                    "a key without = and a value without _ and =, as the choice is named KEY=VALUE_KEY=VALUE";
                let hint = "rename it in the table, or give one column with whole names";
                let found = quoted(&format!("{}={value}", column.name));
                return Err(Fault::new(expected, found, hint).in_column(&column.name));
            }
            _ => {
                let separator = if name.is_empty() { "" } else { "_" };
                name.extend([separator, &column.name, "=", truth(&value)]);
            }
        }
    }
    if name.is_empty() {
        let names = listed(columns.iter().map(|column| &column.name));
        let found = columns.iter().find_map(|column| column.cell(cells).missing_word()).unwrap_or_default();
        let found = if found.is_empty() { "nothing" } else { found };
        let hint = "rename it in the table if it is a name";
        return Err(bad_row_or(hint, "the name of a choice", found).in_column(&names));
    }
    Ok(())
}
