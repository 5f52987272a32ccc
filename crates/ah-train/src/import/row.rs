//! One row of a table as an input, a choice and its timings.

use ah_types::shown::{listed, quoted};
use ah_types::{FeatureKind, fields};
use rustc_hash::FxHashSet;

use super::error::{Fault, MEND};
use super::roles::{Column, FeatureRole, Roles};
use super::table::{Cell, Table};
use super::times::Timing;

/// A feature's value.
#[derive(Clone, Debug)]
pub struct FeatureText {
    /// The text in the log.
    pub text: String,
    pub kind: FeatureKind,
}

/// The timings of one choice in a row.
#[derive(Clone, Debug, Default)]
pub struct ChoiceTimings {
    pub choice: String,
    pub timings: Vec<Timing>,
}

/// Makes rows of a table into inputs, choices and timings. Keeps its buffers from row to row.
#[derive(Debug)]
pub struct RowReader {
    roles: Roles,
    /// By feature, for the current row.
    pub features: Vec<FeatureText>,
    /// For the current row: one, or in a wide table one a column.
    pub choices: Vec<ChoiceTimings>,
    /// The structured names that were checked.
    checked: FxHashSet<String>,
}

impl RowReader {
    pub fn new(roles: Roles) -> Self {
        let empty = FeatureText { text: String::new(), kind: FeatureKind::Numerical };
        let features = vec![empty; roles.features.len()];
        let wide = |time: &Column| ChoiceTimings { choice: time.name.clone(), timings: Vec::new() };
        let choices = if roles.choice.is_empty() {
            roles.times.iter().map(wide).collect()
        } else {
            vec![ChoiceTimings::default()]
        };
        Self { roles, features, choices, checked: FxHashSet::default() }
    }

    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// Reads the table's current row into `features` and `choices`.
    pub fn read(&mut self, table: &dyn Table) -> Result<(), Fault> {
        for (role, feature) in self.roles.features.iter().zip(&mut self.features) {
            feature.read(role, table)?;
        }
        for choice in &mut self.choices {
            choice.timings.clear();
        }
        let rules = &self.roles.rules;
        if self.roles.choice.is_empty() {
            for (column, choice) in self.roles.times.iter().zip(&mut self.choices) {
                rules.read(&column.name, &table.cell(column.index), &mut choice.timings)?;
            }
            return Ok(());
        }
        let choice = &mut self.choices[0];
        name_choice(&self.roles.choice, table, &mut choice.choice)?;
        if self.roles.choice.len() > 1 && !self.checked.contains(&choice.choice) {
            check_structure(&self.roles.choice, table, &choice.choice)?;
            self.checked.insert(choice.choice.clone());
        }
        for column in &self.roles.times {
            rules.read(&column.name, &table.cell(column.index), &mut choice.timings)?;
        }
        Ok(())
    }
}

impl FeatureText {
    fn read(&mut self, role: &FeatureRole, table: &dyn Table) -> Result<(), Fault> {
        self.text.clear();
        let (cell, categorical) = match role {
            FeatureRole::Column(column) => (table.cell(column.index), column.categorical),
            FeatureRole::Constant(_, value) => (Cell::untyped(value), false),
        };
        let fault = |expected: &str| Fault::new(role.name(), expected, cell.shown());
        let kind = cell.write(categorical, &mut self.text);
        let kind = kind.ok_or_else(|| fault("a value, as it is a feature"))?;
        self.kind = if categorical { FeatureKind::Categorical } else { kind };
        if self.text.contains(['\n', '\r']) {
            return Err(fault("a name of one line"));
        }
        Ok(())
    }
}

/// Writes the name of the row's choice: the value of the only column of names, else `KEY=VALUE_KEY=VALUE`
/// without the keys that have no value.
fn name_choice(columns: &[Column], table: &dyn Table, name: &mut String) -> Result<(), Fault> {
    name.clear();
    for column in columns {
        let cell = table.cell(column.index);
        let begin = name.len();
        if begin > 0 {
            name.push('_');
        }
        name.push_str(&column.name);
        name.push('=');
        let value = name.len();
        match cell.write(column.categorical, name) {
            // The key is left out.
            None if cell == Cell::Missing => name.truncate(begin),
            None => {
                return Err(Fault::new(&column.name, "a value, as it is part of the choice", cell.shown()));
            }
            Some(FeatureKind::Categorical) if columns.len() == 1 => drop(name.drain(..value)),
            Some(_) => {}
        }
    }
    let all = || listed(columns.iter().map(|c| c.name.as_str()));
    if name.is_empty() {
        return Err(Fault::new(&all(), "the name of a choice", "nothing"));
    }
    if name.contains(['\n', '\r']) {
        return Err(Fault::new(&all(), "the name of a choice on one line", quoted(name)));
    }
    Ok(())
}

/// Checks that a structured name can be taken apart again.
fn check_structure(columns: &[Column], table: &dyn Table, name: &str) -> Result<(), Fault> {
    let present = columns.iter().filter(|column| table.cell(column.index) != Cell::Missing);
    if fields(name).is_some_and(|fields| fields.iter().map(|(key, _)| key).eq(present.map(|c| &c.name))) {
        return Ok(());
    }
    let broken = |column: &&Column| {
        let mut text = String::new();
        table.cell(column.index).write(column.categorical, &mut text);
        text.contains(['_', '=']) || column.name.contains('=')
    };
    let column = columns.iter().find(broken).map_or("", |column| &column.name);
    Err(Fault {
        column: column.to_owned(),
        expected: "keys without = and values without _ and =, as the choice is named KEY=VALUE_KEY=VALUE"
            .to_owned(),
        found: quoted(name),
        hint: if column.is_empty() {
            MEND
        } else {
            "rename it in the table, or give one column with whole names"
        },
    })
}
