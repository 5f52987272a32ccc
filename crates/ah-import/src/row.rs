//! One row of a table as an input, a choice and its timings.

use ah_types::shown::{listed, quoted};
use ah_types::{Fault, FeatureKind, fields};
use rustc_hash::FxHashSet;

use crate::cell::Cell;
use crate::error::bad_row;
use crate::roles::{Column, Roles};
use crate::times::Timing;

/// Between the texts of an input's features, none of which contains it.
pub const SEPARATOR: &str = "\n";

/// Makes rows of a table into inputs, choices and timings. Keeps its buffers from row to row.
#[derive(Debug)]
pub struct RowReader {
    pub roles: Roles,
    /// For the current row: the texts of the features in the log, joined by [`SEPARATOR`]; nothing for a missing value.
    pub input: String,
    /// For the current row: the choice, or in a wide table one a column, with its timings.
    pub choices: Vec<(String, Vec<Timing>)>,
    /// The structured names that were checked.
    checked: FxHashSet<String>,
}

impl RowReader {
    pub fn new(roles: Roles) -> Self {
        let choices = if roles.is_wide() {
            roles.times.iter().map(|time| (time.name.clone(), Vec::new())).collect()
        } else {
            vec![(String::new(), Vec::new())]
        };
        Self { roles, input: String::new(), choices, checked: FxHashSet::default() }
    }

    /// Reads a row into `input` and `choices`.
    pub fn read(&mut self, cells: &[Cell]) -> Result<(), Fault> {
        let roles = &self.roles;
        self.input.clear();
        for (at, column) in roles.features.iter().enumerate() {
            self.input.push_str(if at > 0 { SEPARATOR } else { "" });
            write(column, cells, "a feature", &mut self.input)?;
        }
        for (_, timings) in &mut self.choices {
            timings.clear();
        }
        if roles.is_wide() {
            for (time, (_, timings)) in roles.times.iter().zip(&mut self.choices) {
                roles.rules.read(&time.name, &cells[time.index], timings)?;
            }
            return Ok(());
        }
        let (name, timings) = &mut self.choices[0];
        name_choice(&roles.choice, cells, name)?;
        if roles.choice.len() > 1 && !self.checked.contains(name) {
            check_structure(&roles.choice, cells, name)?;
            self.checked.insert(name.clone());
        }
        roles.times.iter().try_for_each(|time| roles.rules.read(&time.name, &cells[time.index], timings))
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
        return Err(bad_row("the name of a choice", "nothing").in_column(&names));
    }
    Ok(())
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
