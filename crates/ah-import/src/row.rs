//! One row of a table as an input, a choice and its timings.

use ah_model::shown::{listed, quoted};
use ah_model::{Fault, FeatureKind, fields};

use crate::cell::Cell;
use crate::error::bad_row;
use crate::params::Unit;
use crate::roles::{Column, Roles};
use crate::times::Timing;

/// Between the texts of an input's features, none of which contains it.
pub const SEPARATOR: &str = "\n";

/// One row of a table. Its buffers are kept from row to row.
#[derive(Debug, Default)]
pub struct ReadRow {
    /// The texts of the features in the log, joined by [`SEPARATOR`]; nothing for a missing value.
    pub input: String,
    /// The choice, or in a wide table one a column, with its timings.
    pub choices: Vec<(String, Vec<Timing>)>,
}

impl Roles {
    /// Reads a row.
    pub fn read(&self, cells: &[Cell], row: &mut ReadRow) -> Result<(), Fault> {
        row.input.clear();
        for (at, column) in self.features.iter().enumerate() {
            row.input.push_str(if at > 0 { SEPARATOR } else { "" });
            write(column, cells, "a feature", &mut row.input)?;
        }
        // In a wide table each column of times is a choice, in any other one all are repetitions.
        row.choices.resize_with(if self.is_wide() { self.times.len() } else { 1 }, Default::default);
        row.choices.iter_mut().for_each(|(_, timings)| timings.clear());
        let unit = self.unit_of(cells)?;
        for (at, time) in self.times.iter().enumerate() {
            let (name, timings) = &mut row.choices[if self.is_wide() { at } else { 0 }];
            if self.is_wide() {
                name.clone_from(&time.name);
            } else if at == 0 {
                name_choice(&self.choice, cells, name)?;
            }
            self.rules.read(&time.name, &cells[time.index], unit, timings)?;
        }
        Ok(())
    }

    /// Returns the unit of a row's times. In Google Benchmark's files the rows differ.
    fn unit_of(&self, cells: &[Cell]) -> Result<Unit, Fault> {
        let Some(column) = &self.unit else { return Ok(self.rules.unit.unwrap_or_default()) };
        let cell = &cells[column.index];
        let (expected, hint) = match (cell.as_text().and_then(Unit::named_by), self.rules.unit) {
            (Some(of_row), Some(unit)) if of_row != unit => (
                format!("{unit}, as --unit or the column of times says"),
                "leave --unit out, and the times of each row are taken in its own unit",
            ),
            (Some(unit), _) | (None, Some(unit)) => return Ok(unit),
            (None, None) => ("ns, us, ms or s".to_owned(), "name the unit of all times with --unit"),
        };
        Err(Fault::new(expected, cell.shown(), hint).in_column(&column.name))
    }
}

/// Adds the value of a column to a text of the log, nothing for a missing one. `role` is its part in the row.
fn write(
    column: &Column,
    cells: &[Cell],
    role: &str,
    text: &mut String,
) -> Result<Option<FeatureKind>, Fault> {
    let cell = &cells[column.index];
    if *cell == Cell::Missing {
        return Ok(None);
    }
    let fault =
        |expected| bad_row(format!("{expected}, as it is {role}"), cell.shown()).in_column(&column.name);
    cell.write(column.categorical, text).map(Some).map_err(fault)
}

/// Writes the name of the row's choice: the value of the only column of names, else `KEY=VALUE_KEY=VALUE`
/// without the keys that have no value.
fn name_choice(columns: &[Column], cells: &[Cell], name: &mut String) -> Result<(), Fault> {
    name.clear();
    for column in columns {
        let mut value = String::new();
        match write(column, cells, "part of the choice", &mut value)? {
            None => {}
            Some(FeatureKind::Categorical) if columns.len() == 1 => name.push_str(&value),
            Some(_) => {
                let separator = if name.is_empty() { "" } else { "_" };
                name.extend([separator, &column.name, "=", &value]);
            }
        }
    }
    if name.is_empty() {
        let names = listed(columns.iter().map(|column| &column.name));
        return Err(bad_row("the name of a choice", "nothing, None or NaN").in_column(&names));
    }
    if columns.len() > 1 { check_structure(columns, cells, name) } else { Ok(()) }
}

/// Checks that a structured name can be taken apart again.
fn check_structure(columns: &[Column], cells: &[Cell], name: &str) -> Result<(), Fault> {
    let present = columns.iter().filter(|column| cells[column.index] != Cell::Missing);
    if fields(name).is_some_and(|fields| fields.iter().map(|(key, _)| key).eq(present.map(|c| &c.name))) {
        return Ok(());
    }
    let breaks = |column: &&Column| {
        let mut text = String::new();
        let _ = cells[column.index].write(column.categorical, &mut text);
        text.contains(['_', '=']) || column.name.contains('=')
    };
    let column = columns.iter().find(breaks).unwrap_or(&columns[0]);
    let expected = "keys without = and values without _ and =, as the choice is named KEY=VALUE_KEY=VALUE";
    let hint = "rename it in the table, or give one column with whole names";
    Err(Fault::new(expected, quoted(name), hint).in_column(&column.name))
}
