//! The rows of all tables in memory: each input and each choice once, and 16 bytes a time.

use std::collections::BTreeMap;

use ah_model::shown::listed;
use ah_model::{Error, Fault, Feature, FeatureKind, RowNumber, Schema};
use ah_types::Tally;
use ah_types::log::quote;
use indexmap::{IndexMap, IndexSet};

use crate::cell::{Cell, NONE, truth};
use crate::column::{Column, positions};
use crate::condition::SeenValues;
use crate::number;
use crate::params::ImportParams;
use crate::roles::Roles;
use crate::row::{ReadRow, SEPARATOR};
use crate::table::{self, Row};
use crate::texts::{Place, Texts};
use crate::time_columns::UNITS;
use crate::times::{SeenTimes, split_unit};
use crate::watched::Watched;

/// More choices than this are a column of measurements by mistake, and would fill the memory.
const MOST_CHOICES: usize = 1_000_000;

/// So many first rows show which column holds units.
const FIRST_ROWS: usize = 100;

/// Hardly anything worth choosing for takes less than these milliseconds: 5 ns.
const SHORT_MS: f64 = 5e-6;

/// The rows of all tables.
#[derive(Default)]
pub struct Contents {
    pub schema: Schema,
    /// The texts of an input's features, joined.
    pub inputs: IndexSet<String>,
    pub choices: IndexSet<String>,
    /// In the order of the rows.
    pub times: Vec<Time>,
    pub rows: Vec<TableRow>,
    pub bad_rows: Tally,
    pub rows_left_out: u64,
    pub repeated_names: Tally,
    /// The columns without a role.
    pub watched: IndexMap<String, Watched>,
    /// By the text of each condition, what its column has.
    pub conditions: BTreeMap<String, SeenValues>,
    /// The tools that wrote the tables.
    pub tools: IndexSet<String>,
    pub seen: SeenTimes,
    /// The roles of the first table's columns; the features are in the order of each input's text.
    pub roles: Roles,
    /// The cells of the features, of the choice and of the times, by column.
    pub texts: IndexMap<String, Texts>,
    /// The number of times that are missing.
    pub not_measured: u64,
}

/// A row, by its table: 16 bytes, because a table may have millions.
pub struct TableRow {
    pub table: u32,
    pub input: u32,
    pub number: u64,
}

/// One time, by the positions of its row and its choice.
#[derive(Clone, Copy)]
pub struct Time {
    pub row: u32,
    pub choice: u32,
    pub ms: f64,
}

impl Contents {
    /// Reads all tables.
    ///
    /// # Errors
    /// The first row that cannot be imported, unless such rows are to be skipped; a feature that is a number in some
    /// rows and a name in others; a table without times.
    pub fn read(params: &ImportParams) -> Result<Self, Error> {
        let mut contents = Self::default();
        let mut row = ReadRow::default();
        for table in 0..params.tables.len() {
            contents.read_table(table, params, &mut row)?;
        }
        if contents.rows.is_empty() {
            return Err(contents.no_rows(params));
        }
        if params.device.is_none() && params.device_capa.is_none() {
            contents.watched.values().try_for_each(|watched| watched.one_device(&params.tables[0]))?;
        }
        contents.seen = row.seen;
        contents.schema = contents.schema(params)?;
        contents.not_transposed(params)?;
        let finite = || contents.times.iter().filter(|time| time.ms.is_finite());
        let are_short = 2 * finite().filter(|time| time.ms < SHORT_MS).count() > finite().count();
        if contents.roles.unit_is_assumed() && !contents.seen.has_own_units && are_short {
            let found = "none, and times that are mostly below 5 ns if they are in milliseconds";
            return Err(Error::parameter("unit", UNITS, found));
        }
        if contents.times.is_empty() {
            let what = format!("no row holds a time (rows: {})", contents.rows.len());
            return Err(too_little(params, &what, "name the column of the times with --time"));
        }
        Ok(contents)
    }

    /// The error of tables without a row to import.
    fn no_rows(&self, params: &ImportParams) -> Error {
        let bad = self.bad_rows.count();
        let left = self.rows_left_out;
        if bad > 0 {
            let what = format!("all rows were skipped (rows: {bad}), for example {}", self.bad_rows);
            return too_little(params, &what, "fix them, or name other columns");
        }
        if left > 0 {
            let hint = self.unfound(params).into_iter().next();
            let usual = "look at the columns of --where; `--tool TOOL --show` prints those of the tool";
            let what = format!("no row fulfils --where (rows: {left})");
            return too_little(params, &what, hint.as_deref().unwrap_or(usual));
        }
        too_little(params, "the table has no rows to import", "measure some inputs first")
    }

    /// Reads the table at this position.
    fn read_table(&mut self, index: usize, params: &ImportParams, read: &mut ReadRow) -> Result<(), Error> {
        let path = &params.tables[index];
        let mut table = table::open(path, params)?;
        let first: Vec<Result<Row, Error>> = table.rows.by_ref().take(FIRST_ROWS).collect();
        let params = &table.preset.apply(params, &table.columns);
        self.tools.extend(Some(table.preset.name.clone()).filter(|name| !name.is_empty()));
        let constants = params.constants()?.into_iter().map(|(_, value)| Cell::from(value));
        let constants: Vec<Cell> = constants.collect();
        let roles = Roles::find(path, &table, &first, params)?;
        if index == 0 {
            self.roles = roles.clone();
        }
        roles.same_features(path, &self.roles.features, &params.tables[0])?;
        let watched = positions(&mut self.watched, roles.watched.iter(), Watched::new);
        let columns = roles.features.iter().chain(&roles.choice);
        let texts = positions(&mut self.texts, columns, |_| Texts::default());
        let times = roles.times.iter().map(|time| &time.column).filter(|_| params.decimal.is_none());
        let times = positions(&mut self.texts, times, |_| Texts::default());
        for condition in roles.all_conditions() {
            self.conditions.entry(condition.text.clone()).or_default();
        }
        let mut bad_rows = std::mem::take(&mut self.bad_rows);
        let mut take = |Row { number, mut cells }: Row| {
            let is_name = |(cell, name): (&Cell, &String)| {
                cell.as_text().unwrap_or_default().eq_ignore_ascii_case(name)
            };
            if cells.iter().zip(&table.columns).all(is_name) {
                let fault = Fault::new("values", "the names of the columns", "the row is left out");
                self.repeated_names.add(&fault.at(path, number));
                return Ok(());
            }
            cells.extend_from_slice(&constants);
            for condition in roles.all_conditions() {
                if let Some(seen) = self.conditions.get_mut(&condition.text) {
                    seen.see(condition, &cells);
                }
            }
            if !roles.is_wanted(&cells) {
                self.rows_left_out += 1;
                return Ok(());
            }
            roles.read(&cells, read).map_err(|fault| fault.at(path, number.clone()))?;
            let place = (index, number);
            for &(column, at) in &texts {
                self.texts[at].see(column, &cells, &place);
            }
            for &(column, at) in &times {
                if let Cell::Text(text) | Cell::Spaced(text) = column.cell(&cells) {
                    self.texts[at].see_points(split_unit(text).0, &place);
                }
            }
            for &(column, at) in &watched {
                self.watched[at].see(column.cell(&cells), self.rows.len());
            }
            self.add(&place, read)
        };
        for row in first.into_iter().chain(table.rows) {
            match row.and_then(&mut take) {
                Err(Error::Malformed(fault)) if params.skip_bad_rows && fault.row.is_some() => {
                    bad_rows.add(&fault);
                }
                taken => taken?,
            }
        }
        self.bad_rows = bad_rows;
        Ok(())
    }

    /// Adds the row that was read last.
    fn add(&mut self, (table, number): &(usize, RowNumber), read: &ReadRow) -> Result<(), Error> {
        // 2^32 names would not fit into memory.
        let number_of = |names: &mut IndexSet<String>, name: &String| {
            let known = names.get_index_of(name);
            known.unwrap_or_else(|| names.insert_full(name.clone()).0) as u32
        };
        let row = self.rows.len() as u32;
        let input = number_of(&mut self.inputs, &read.input);
        self.rows.push(TableRow { table: *table as u32, input, number: number.get() });
        for (name, timings) in &read.choices {
            let times = || timings.iter().flatten().copied();
            self.not_measured += (timings.len() - times().count()) as u64;
            if times().next().is_none() {
                continue;
            }
            let choice = number_of(&mut self.choices, name);
            self.times.extend(times().map(|ms| Time { row, choice, ms }));
        }
        if self.choices.len() > MOST_CHOICES {
            let expected = format!("columns with at most {MOST_CHOICES} different choices");
            return Err(Error::parameter("choice", expected, "more; is one of them a measurement?"));
        }
        Ok(())
    }

    /// A sentence for each condition of the user whose value no row has.
    pub fn unfound(&self, params: &ImportParams) -> Vec<String> {
        let texts = params.only_where.iter().chain(&params.failed_where);
        let seen = texts.filter_map(|text| Some((text, self.conditions.get(text)?)));
        seen.filter(|(_, seen)| !seen.is_found).map(|(text, seen)| seen.unfound(text)).collect()
    }

    /// The features. Their texts in all rows show which are numerical.
    ///
    /// # Errors
    /// The first odd row, where some texts of a column are numbers and others are names.
    fn schema(&self, params: &ImportParams) -> Result<Schema, Error> {
        let at = |name: &str, ((table, row), fault): (&Place, Fault)| {
            Error::from(fault.at(&params.tables[*table], row.clone()).in_column(name))
        };
        for (name, texts) in &self.texts {
            texts.doubt().map_or(Ok(()), |doubt| Err(at(name, doubt)))?;
        }
        let feature = |Column { name, .. }: &Column| {
            let kind = self.texts[name].kind().map_err(|fault| at(name, fault))?;
            Ok(Feature { kind, ..Feature::numerical(name) })
        };
        let features: Result<Vec<Feature>, Error> = self.roles.features.iter().map(feature).collect();
        Schema::new(features?).map_err(|e| Error::parameter("features", "each column once", e.to_string()))
    }

    /// Refuses a wide table whose columns are inputs and whose rows are choices: the columns have numbers as names, and the rows names.
    fn not_transposed(&self, params: &ImportParams) -> Result<(), Error> {
        let is_number = |name: &String| {
            let value = name.rsplit('=').next().unwrap_or_default();
            ah_types::number(value).is_some() || number::is_shape(value) || number::is_notation(value)
        };
        let has_names = self.schema.features().iter().all(|feature| feature.kind == FeatureKind::Categorical);
        let is_given = !params.wide || !params.choice.is_empty();
        if is_given || !has_names || self.choices.len() < 2 || !self.choices.iter().all(is_number) {
            return Ok(());
        }
        let features = self.roles.features.iter().map(|feature| &feature.name);
        let found = format!(
            "numbers as columns ({}) and names in {}: if the columns are inputs, transpose the table",
            listed(&self.choices),
            listed(features)
        );
        Err(Error::parameter("wide", "a column of times for each choice (name these with --choice)", found))
    }

    /// The input of a time.
    pub fn input(&self, time: &Time) -> u32 {
        self.rows[time.row as usize].input
    }

    /// The names of a feature of names, some more than once.
    pub fn names(&self, slot: usize) -> impl Iterator<Item = &str> {
        let is_named = self.schema.features()[slot].kind == FeatureKind::Categorical
            && !self.roles.features[slot].categorical;
        let inputs = self.inputs.iter().filter(move |_| is_named);
        let values = inputs.map(move |input| input.split(SEPARATOR).nth(slot).unwrap_or_default());
        values.filter(|value| !["", NONE].contains(value))
    }

    /// Whether a feature of names is a truth value. Beside other names, `true` is a name.
    pub fn is_truth(&self, slot: usize) -> bool {
        self.names(slot).all(|name| ["True", "False"].contains(&truth(name)))
    }

    /// The inputs in the order of the rows, each as its text in a log with this schema, with its choices and times.
    pub fn samples(
        &self,
        schema: &Schema,
    ) -> impl Iterator<Item = (String, impl Iterator<Item = (&str, f64)>)> {
        let order: Vec<usize> = schema.features().iter().filter_map(|f| self.schema.slot(&f.name)).collect();
        let truths: Vec<bool> = (0..self.roles.features.len()).map(|slot| self.is_truth(slot)).collect();
        self.times.chunk_by(|a, b| self.input(a) == self.input(b)).map(move |times| {
            let texts: Vec<&str> = self.inputs[self.input(&times[0]) as usize].split(SEPARATOR).collect();
            let text = |&slot: &usize| match texts[slot] {
                NONE if self.schema.features()[slot].kind == FeatureKind::Numerical => "",
                text if truths[slot] => truth(text),
                text => text,
            };
            let fields: Vec<_> = order.iter().map(|slot| quote(text(slot))).collect();
            let samples = times.iter().map(|time| (&*self.choices[time.choice as usize], time.ms));
            (fields.join(","), samples)
        })
    }
}

fn too_little(params: &ImportParams, what: &str, hint: &str) -> Error {
    Error::TooLittle(format!("{}: {what}; {hint}", params.tables[0].display()))
}
