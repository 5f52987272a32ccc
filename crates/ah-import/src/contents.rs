//! The rows of all tables in memory: each input and each choice once, and 16 bytes a time.

use std::collections::BTreeMap;
use std::path::Path;

use ah_model::shown::{cut, listed, quoted};
use ah_model::{Error, Fault, Feature, FeatureKind, RowNumber, Schema};
use ah_types::Tally;
use ah_types::log::quote;
use indexmap::IndexSet;
use rustc_hash::FxHashMap;

use crate::cell::{Cell, NONE};
use crate::column::Column;
use crate::condition::SeenValues;
use crate::doubts::{self, Doubts};
use crate::number::{self, Points};
use crate::params::ImportParams;
use crate::report::ImportReport;
use crate::roles::{Roles, UNITS};
use crate::row::{ReadRow, SEPARATOR};
use crate::table::{self, Row};

/// More choices than this are a column of measurements by mistake, and would fill the memory.
const MOST_CHOICES: usize = 1_000_000;

/// Times of one choice on one input that differ by more than this factor are not repetitions: they more likely belong to
/// different inputs, and a feature that distinguishes these was not given.
const APART: f64 = 2.0;

/// Hardly anything worth choosing for takes less than these milliseconds: 5 ns.
const SHORT_MS: f64 = 5e-6;

/// The same greatest time in several rows marks a failure where it is so many times all others.
const SENTINEL: f64 = 1e6;

/// The rows of all tables.
#[derive(Default)]
pub struct Contents {
    pub schema: Schema,
    /// The texts of an input's features, joined.
    inputs: IndexSet<String>,
    choices: IndexSet<String>,
    /// In the order of the rows.
    times: Vec<Time>,
    rows: Vec<TableRow>,
    bad_rows: Tally,
    rows_left_out: u64,
    /// The first rows that repeat the line of names, and the number of all.
    repeated_names: (Vec<String>, usize),
    doubts: Doubts,
    /// By the text of each condition, what its column has.
    conditions: BTreeMap<String, SeenValues>,
    /// By feature and word, the rows in which the word is read as a missing value.
    missing: BTreeMap<(usize, &'static str), u64>,
    /// The tools that wrote the tables.
    tools: IndexSet<String>,
    /// Sentences about what was read in another way than the table has it.
    readings: Vec<String>,
    has_own_units: bool,
    /// The roles of the first table's columns; the features are in the order of each input's text.
    roles: Roles,
    /// The counts of times so far.
    counts: ImportReport,
}

/// A row, by its table: 16 bytes, because a table may have millions.
struct TableRow {
    table: u32,
    input: u32,
    /// Negative in a file without lines.
    number: i64,
}

/// One time, by the positions of its row and its choice.
#[derive(Clone, Copy)]
struct Time {
    row: u32,
    choice: u32,
    ms: f64,
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
        for (table, path) in params.tables.iter().enumerate() {
            contents.read_table(params, table, path, &mut row)?;
        }
        let too_little = |what: &str, hint: &str| {
            Err(Error::TooLittle(format!("{}: {what}; {hint}", params.tables[0].display())))
        };
        if contents.rows.is_empty() {
            let bad = contents.bad_rows.count();
            return match (bad, contents.rows_left_out) {
                (0, 0) => too_little("the table has no rows to import", "measure some inputs first"),
                (0, left) => {
                    let conditions = format!("no row has {} (rows: {left})", params.only_where.join(" and "));
                    let unfound = contents.unfound(params).into_iter().next();
                    too_little(
                        &conditions,
                        &unfound.unwrap_or_else(|| "look at the columns of --where".to_owned()),
                    )
                }
                _ => {
                    let what =
                        format!("all rows were skipped (rows: {bad}), for example {}", contents.bad_rows);
                    too_little(&what, "fix them, or name other columns")
                }
            };
        }
        if params.device.is_none() && params.device_capa.is_none() {
            contents.doubts.one_device(&params.tables[0])?;
        }
        contents.has_own_units = row.seen.has_own_units;
        contents.read_sentinels(&row.seen.greatest);
        let unfound = contents.unfound(params);
        contents.readings.extend(unfound);
        let features = (0..contents.roles.features.len()).map(|slot| contents.feature(slot, params));
        contents.schema = Schema::new(features.collect::<Result<Vec<_>, _>>()?)
            .map_err(|e| Error::parameter("features", "each column once", e.to_string()))?;
        let finite = || contents.times.iter().filter(|time| time.ms.is_finite());
        let are_short = 2 * finite().filter(|time| time.ms < SHORT_MS).count() > finite().count();
        if contents.roles.unit_is_assumed() && !contents.has_own_units && are_short {
            let found = "none, and times that are mostly below 5 ns if they are in milliseconds";
            return Err(Error::parameter("unit", UNITS, found));
        }
        if contents.times.is_empty() {
            let what = format!("no row holds a time (rows: {})", contents.rows.len());
            return too_little(&what, "name the column of the times with --time");
        }
        Ok(contents)
    }

    fn read_table(
        &mut self,
        params: &ImportParams,
        index: usize,
        path: &Path,
        read_row: &mut ReadRow,
    ) -> Result<(), Error> {
        let table = table::open(path, params)?;
        let params = &table.preset.apply(params, &table.columns);
        self.tools.extend(Some(table.preset.name.clone()).filter(|name| !name.is_empty()));
        let constants = params.constants()?.into_iter().map(|(_, value)| Cell::from(value));
        let constants: Vec<Cell> = constants.collect();
        let roles = Roles::find(path, &table, params)?;
        if index == 0 {
            self.roles = roles.clone();
        }
        roles.same_features(path, &self.roles.features, &params.tables[0])?;
        let watched = self.doubts.places(&roles.watched);
        let numbers: Vec<&Column> = match table.may_group && params.decimal.is_none() {
            true => roles.features.iter().chain(&roles.times).collect(),
            false => Vec::new(),
        };
        let conditions = roles.all_conditions();
        let mut conditions: Vec<SeenValues> =
            conditions.map(|of| self.conditions.remove(&of.text).unwrap_or_default()).collect();
        let mut points = vec![Points::default(); numbers.len()];
        let mut bad_rows = std::mem::take(&mut self.bad_rows);
        let mut take = |Row { number, mut cells }: Row| {
            let names = table.columns.iter().map(|name| Some(&**name));
            if cells.iter().map(Cell::as_text).eq(names) {
                self.repeated_names.0.truncate(2);
                self.repeated_names.0.push(format!("{}:{}", path.display(), number.get()));
                self.repeated_names.1 += 1;
                return Ok(());
            }
            cells.extend_from_slice(&constants);
            for (seen, condition) in conditions.iter_mut().zip(roles.all_conditions()) {
                seen.see(condition, &cells);
            }
            if !roles.is_wanted(&cells) {
                self.rows_left_out += 1;
                return Ok(());
            }
            roles.read(&cells, read_row).map_err(|fault| fault.at(path, number.clone()))?;
            for (column, points) in numbers.iter().zip(&mut points) {
                points.see(column.cell(&cells).as_text().unwrap_or_default(), number.get());
            }
            self.doubts.see(&cells, &watched, self.rows.len());
            for (slot, column) in self.roles.features.iter().enumerate() {
                let word = column.cell(&cells).missing_word().filter(|word| !word.is_empty());
                word.into_iter().for_each(|word| *self.missing.entry((slot, word)).or_default() += 1);
            }
            self.add(index, &number, read_row)
        };
        for row in table.rows {
            match row.and_then(&mut take) {
                Err(Error::Malformed(fault)) if params.skip_bad_rows && fault.row.is_some() => {
                    bad_rows.add(&fault);
                }
                taken => taken?,
            }
        }
        self.bad_rows = bad_rows;
        self.conditions.extend(roles.all_conditions().map(|of| of.text.clone()).zip(conditions));
        for (column, points) in numbers.iter().zip(&points) {
            if let Some((row, text)) = points.doubt() {
                let expected = "numbers that can be read in one way alone, as each value with a point has three digits behind it and whole \
                                numbers stand beside them";
                let fault = Fault::new(expected, quoted(text), number::HINT);
                return Err(fault.at(path, RowNumber::Line(*row)).in_column(&column.name).into());
            }
        }
        Ok(())
    }

    /// Takes the greatest time for a failure where many rows have it and all others are much shorter: such as 1e20.
    fn read_sentinels(&mut self, greatest: &[(f64, String)]) {
        for (ms, text) in greatest.iter().rev() {
            let below = self.times.iter().map(|time| time.ms).filter(|other| other < ms).fold(0.0, f64::max);
            let count = self.times.iter().filter(|time| time.ms == *ms).count();
            if count < 2 || below == 0.0 || *ms < SENTINEL * below {
                return;
            }
            self.times.iter_mut().filter(|time| time.ms == *ms).for_each(|time| time.ms = f64::INFINITY);
            self.counts.measured -= count as u64;
            self.counts.failed += count as u64;
            // JSON has no exponent here, and a hundred digits.
            let text = match ah_types::number(text).filter(|_| text.len() > 12) {
                Some(x) => format!("{x:e}"),
                None => cut(text, 20),
            };
            self.readings.push(format!(
                "{text} is read as a failure, as it is a million times all other times (times: {count}); say so with --failed={text}"
            ));
        }
    }

    /// Adds the row that was read last.
    fn add(&mut self, table: usize, number: &RowNumber, read: &ReadRow) -> Result<(), Error> {
        // 2^32 names would not fit into memory.
        let number_of = |names: &mut IndexSet<String>, name: &String| {
            let known = names.get_index_of(name);
            known.unwrap_or_else(|| names.insert_full(name.clone()).0) as u32
        };
        let row = self.rows.len() as u32;
        let line = matches!(number, RowNumber::Line(_));
        let number = number.get() as i64 * if line { 1 } else { -1 };
        let input = number_of(&mut self.inputs, &read.input);
        self.rows.push(TableRow { table: table as u32, input, number });
        for (name, timings) in &read.choices {
            let times = || timings.iter().flatten().copied();
            self.counts.not_measured += (timings.len() - times().count()) as u64;
            if times().next().is_none() {
                continue;
            }
            let choice = number_of(&mut self.choices, name);
            for ms in times() {
                *(if ms.is_finite() { &mut self.counts.measured } else { &mut self.counts.failed }) += 1;
                self.times.push(Time { row, choice, ms });
            }
        }
        if self.choices.len() > MOST_CHOICES {
            let expected = format!("columns with at most {MOST_CHOICES} different choices");
            return Err(Error::parameter("choice", expected, "more; is one of them a measurement?"));
        }
        Ok(())
    }

    /// Returns a sentence for each condition of the user whose value no row has.
    fn unfound(&self, params: &ImportParams) -> Vec<String> {
        let texts = params.only_where.iter().chain(&params.failed_where);
        let seen = texts.filter_map(|text| Some((text, self.conditions.get(text)?)));
        seen.filter(|(_, seen)| !seen.is_found).map(|(text, seen)| seen.unfound(text)).collect()
    }

    /// Returns a feature. Its values in all rows show whether it is numerical.
    ///
    /// # Errors
    /// The first odd row, where some values are numbers and others are names.
    fn feature(&self, slot: usize, params: &ImportParams) -> Result<Feature, Fault> {
        let Column { name, categorical, .. } = &self.roles.features[slot];
        let value = |row: &TableRow| self.inputs[row.input as usize].split(SEPARATOR).nth(slot).unwrap_or("");
        let is_number = |row: &&TableRow| ah_types::number(value(row)).is_some();
        let values = self.rows.iter().filter(|row| !["", NONE].contains(&value(row)));
        let (numbers, names): (Vec<&TableRow>, Vec<&TableRow>) = values.partition(is_number);
        let fault = |row: &TableRow, expected: String, hint: &str| {
            let fault = Fault::new(expected, quoted(value(row)), hint);
            let number = row.number.unsigned_abs();
            let number = if row.number < 0 { RowNumber::Row(number) } else { RowNumber::Line(number) };
            Err(fault.at(&params.tables[row.table as usize], number).in_column(name))
        };
        let odd = || names.iter().filter(|row| number::is_notation(value(row)));
        match (numbers.first(), names.first()) {
            (Some(_), None) if !categorical => Ok(Feature::numerical(name)),
            (_, Some(row)) if !categorical && number::is_localized(value(row)) => {
                let hint = format!("{}; or give --categorical with this column", number::HINT);
                fault(row, "a number".to_owned(), &hint)
            }
            (None, Some(name)) if !categorical && 10 * odd().count() >= 9 * names.len() => {
                let hint = "write its digits alone (1000 for 1_000 or 1k), or give --categorical with this column if these are names";
                fault(odd().next().unwrap_or(name), "a number".to_owned(), hint)
            }
            (Some(number), Some(row)) if !categorical => {
                let hint = "fix it, or give --categorical with this column if its numbers are names";
                match names.len() <= numbers.len() {
                    true => fault(row, format!("a number, as in {} other rows", numbers.len()), hint),
                    false => fault(number, format!("a name, as in {} other rows", names.len()), hint),
                }
            }
            _ => Ok(Feature::categorical(name)),
        }
    }

    /// Returns the inputs in the order of the rows, each as its text in a log with this schema, with its choices and times.
    pub fn samples(
        &self,
        schema: &Schema,
    ) -> impl Iterator<Item = (String, impl Iterator<Item = (&str, f64)>)> {
        let order: Vec<usize> = schema.features().iter().filter_map(|f| self.schema.slot(&f.name)).collect();
        let input = |time: &Time| self.rows[time.row as usize].input;
        let schema_kind = |slot: usize| self.schema.features()[slot].kind;
        self.times.chunk_by(move |a, b| input(a) == input(b)).map(move |times| {
            let texts: Vec<&str> = self.inputs[input(&times[0]) as usize].split(SEPARATOR).collect();
            let missing = |slot: usize| texts[slot] == NONE && schema_kind(slot) == FeatureKind::Numerical;
            let fields: Vec<_> =
                order.iter().map(|&slot| quote(if missing(slot) { "" } else { texts[slot] })).collect();
            let samples = times.iter().map(|time| (&*self.choices[time.choice as usize], time.ms));
            (fields.join(","), samples)
        })
    }

    /// Returns the report of an import of these rows.
    pub fn report(self, params: &ImportParams) -> ImportReport {
        let mut warnings = self.readings.clone();
        let bad_rows = self.bad_rows.count();
        if bad_rows > 0 {
            warnings.push(format!("bad rows skipped: {bad_rows}, for example {}", self.bad_rows));
        }
        if let (first, count @ 1..) = &self.repeated_names {
            warnings.push(format!(
                "rows that repeat the line of names are left out (rows: {count}): {}",
                listed(first)
            ));
        }
        warnings.extend(self.missing_words());
        let asked = self.roles.all_conditions().filter(|of| self.conditions[&of.text].is_found);
        let asked: Vec<&str> = asked.map(|of| &*of.column.name).collect();
        warnings.extend(self.doubts.validity(&self.fastest_rows(), &asked));
        let names = &self.roles.choice;
        warnings.extend(
            names
                .first()
                .filter(|_| names.len() == 1)
                .and_then(|c| doubts::statistics(&self.choices, &c.name)),
        );
        warnings.extend(self.contradiction(params));
        if params.device.is_none() && params.device_capa.is_none() {
            warnings.push(
                "the log names no device, so a heuristic learned from it holds on every device; \
                 name it with --device LOG, or a GPU's --device-capa and --shared-memory"
                    .to_owned(),
            );
        }
        let names = |kind| self.schema.names(kind).map(str::to_owned).collect();
        let rules = &self.roles.rules;
        let unit = match (&rules.named, &self.roles.unit) {
            (Some(named), _) => named.to_string(),
            (None, Some(column)) => format!("the unit in {}", column.name),
            (None, None) if rules.higher_is_better => "rates".to_owned(),
            (None, None) if self.has_own_units => "the unit of each cell".to_owned(),
            (None, None) => "milliseconds, as nothing names a unit".to_owned(),
        };
        let mut choice_names: Vec<String> = self.choices.into_iter().collect();
        choice_names.sort_unstable();
        ImportReport {
            log: params.output.clone(),
            rows: self.rows.len() as u64,
            inputs: self.inputs.len() as u64,
            choices: choice_names.len(),
            choice_names,
            bad_rows,
            rows_left_out: self.rows_left_out,
            tools: self.tools.into_iter().collect(),
            unit,
            unused: self.roles.unused().map(|column| column.name.clone()).collect(),
            numerical: names(FeatureKind::Numerical),
            categorical: names(FeatureKind::Categorical),
            warnings,
            ..self.counts
        }
    }

    /// Returns for each input the row with the least time.
    fn fastest_rows(&self) -> Vec<usize> {
        let mut fastest: FxHashMap<u32, Time> = FxHashMap::default();
        for time in self.times.iter().filter(|time| time.ms.is_finite()) {
            let least = fastest.entry(self.rows[time.row as usize].input).or_insert(*time);
            if time.ms < least.ms {
                *least = *time;
            }
        }
        fastest.values().map(|time| time.row as usize).collect()
    }

    /// Returns a sentence for each feature and word for a missing value. `None` is a name among names.
    fn missing_words(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|((slot, word), count)| {
            let feature = &self.schema.features()[*slot];
            let name = quoted(&feature.name);
            match *word == NONE && feature.kind == FeatureKind::Categorical {
                true => format!(
                    "{word} is a name in column {name} (rows: {count}); an empty cell would be missing"
                ),
                false => format!("{word} is read as missing: column {name} (rows: {count})"),
            }
        })
    }

    /// Returns a sentence about rows that give one choice on one input very different times.
    fn contradiction(&self, params: &ImportParams) -> Option<String> {
        // The least and the greatest time of each pair; of the repetitions in a row, the least counts.
        let mut pairs: FxHashMap<(u32, u32), [Time; 2]> = FxHashMap::default();
        let of_row = |a: &Time, b: &Time| (a.row, a.choice) == (b.row, b.choice);
        for times in self.times.chunk_by(of_row) {
            let least = times.iter().copied().reduce(|a, b| if b.ms < a.ms { b } else { a })?;
            let pair = (self.rows[least.row as usize].input, least.choice);
            let [low, high] = pairs.entry(pair).or_insert([least; 2]);
            if least.ms < low.ms {
                *low = least;
            }
            if least.ms > high.ms {
                *high = least;
            }
        }
        let apart = || pairs.values().filter(|[low, high]| high.ms > APART * low.ms);
        let [low, high] = apart().min_by_key(|[low, high]| low.row.min(high.row))?;
        let place = |time: &Time| {
            let TableRow { table, number, .. } = &self.rows[time.row as usize];
            format!(
                "{} ms in {}:{}",
                time.ms,
                params.tables[*table as usize].display(),
                number.unsigned_abs()
            )
        };
        let unused = listed(self.roles.unused().map(|column| &column.name));
        let others = match &*unused {
            "" => String::new(),
            unused => format!(" Columns without a role: {unused}."),
        };
        Some(format!(
            "rows contradict each other (pairs of an input and a choice: {}). The first: {}, {}. Is a feature missing from \
             --features?{others}",
            apart().count(),
            place(low),
            place(high),
        ))
    }
}
