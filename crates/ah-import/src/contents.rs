//! The rows of all tables in memory: each input and each choice once, and 16 bytes a time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ah_model::math::ln;
use ah_model::shown::{listed, quoted};
use ah_model::{Error, Fault, Feature, FeatureKind, RowNumber, Schema};
use ah_types::Tally;
use ah_types::log::quote;
use indexmap::IndexSet;
use rustc_hash::FxHashMap;

use crate::cell::{Cell, NONE, truth};
use crate::column::Column;
use crate::condition::SeenValues;
use crate::doubts::{self, Deviation, Doubts};
use crate::number::{self, Points};
use crate::params::ImportParams;
use crate::report::ImportReport;
use crate::roles::{Roles, UNITS};
use crate::row::{ReadRow, SEPARATOR};
use crate::table::{self, Row};
use crate::times::SeenTimes;
use crate::unit::Unit;

/// More choices than this are a column of measurements by mistake, and would fill the memory.
const MOST_CHOICES: usize = 1_000_000;

/// Times of one choice on one input that differ by more than this factor are not repetitions: they more likely belong to
/// different inputs, and a feature that distinguishes these was not given.
const APART: f64 = 2.0;

/// The same greatest time in several rows may be a failure or a limit where it is so many times all others.
const LIMIT: f64 = 10.0;

/// The most times among which a reason for differences is looked for.
const MOST_COMPARED: usize = 200_000;

/// Hardly anything worth choosing for takes less than these milliseconds: 5 ns.
const SHORT_MS: f64 = 5e-6;

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
    seen: SeenTimes,
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
                    let texts: Vec<&str> = contents.roles.conditions.iter().map(|of| &*of.text).collect();
                    let conditions = format!("no row has {} (rows: {left})", texts.join(" and "));
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
        contents.seen = row.seen;
        let features = (0..contents.roles.features.len()).map(|slot| contents.feature(slot, params));
        contents.schema = Schema::new(features.collect::<Result<Vec<_>, _>>()?)
            .map_err(|e| Error::parameter("features", "each column once", e.to_string()))?;
        let finite = || contents.times.iter().filter(|time| time.ms.is_finite());
        let are_short = 2 * finite().filter(|time| time.ms < SHORT_MS).count() > finite().count();
        if contents.roles.unit_is_assumed() && !contents.seen.has_own_units && are_short {
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
        let may_group = table.may_group && params.decimal.is_none();
        let others = roles.features.iter().chain(&roles.times).filter(|_| may_group);
        let numbers: Vec<&Column> =
            roles.choice.iter().chain(others).filter(|column| !column.categorical).collect();
        let conditions = roles.all_conditions();
        let mut conditions: Vec<SeenValues> =
            conditions.map(|of| self.conditions.get(&of.text).cloned().unwrap_or_default()).collect();
        let mut points = vec![Points::default(); numbers.len()];
        let mut bad_rows = std::mem::take(&mut self.bad_rows);
        let mut take = |Row { number, mut cells }: Row| {
            let is_name = |(cell, name): (&Cell, &String)| {
                cell.as_text().unwrap_or_default().eq_ignore_ascii_case(name)
            };
            if cells.iter().zip(&table.columns).all(is_name) {
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
                points.see(column.cell(&cells).as_text().unwrap_or_default(), &number);
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
            if let Some((row, text)) = points.doubt(may_group) {
                let why = match ah_types::number(text) {
                    Some(_) => {
                        "each value with a point has three digits behind it and whole numbers stand beside them"
                    }
                    None => "others are digits alone",
                };
                let hint = if number::is_notation(text) { number::NOTATION_HINT } else { number::HINT };
                let expected = format!("numbers that can be read in one way alone, as {why}");
                let fault = Fault::new(expected, quoted(text), hint);
                return Err(fault.at(path, row.clone()).in_column(&column.name).into());
            }
        }
        Ok(())
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
        let hint = |row: &TableRow| match value(row) {
            text if number::is_localized(text) => Some(number::HINT),
            text => number::is_notation(text).then_some(number::NOTATION_HINT),
        };
        let advice = |row: &TableRow| {
            format!(
                "{}; or give --categorical with this column if these are names",
                hint(row).unwrap_or("fix it")
            )
        };
        let odd: Vec<_> = names.iter().filter(|row| hint(row).is_some()).collect();
        match (numbers.first(), names.first()) {
            (Some(_), None) if !categorical => Ok(Feature::numerical(name)),
            (None, Some(_)) if !categorical && !odd.is_empty() && 10 * odd.len() >= 9 * names.len() => {
                fault(odd[0], "a number".to_owned(), &advice(odd[0]))
            }
            (Some(number), Some(row)) if !categorical => match names.len() <= numbers.len()
                || hint(row).is_some()
            {
                true => fault(row, format!("a number, as in {} other rows", numbers.len()), &advice(row)),
                false => fault(number, format!("a name, as in {} other rows", names.len()), &advice(number)),
            },
            _ => Ok(Feature::categorical(name)),
        }
    }

    /// Returns the names of a feature of names, some more than once.
    fn names(&self, slot: usize) -> impl Iterator<Item = &str> {
        let is_named = self.schema.features()[slot].kind == FeatureKind::Categorical
            && !self.roles.features[slot].categorical;
        let inputs = self.inputs.iter().filter(move |_| is_named);
        let values = inputs.map(move |input| input.split(SEPARATOR).nth(slot).unwrap_or_default());
        values.filter(|value| !["", NONE].contains(value))
    }

    /// Returns the inputs in the order of the rows, each as its text in a log with this schema, with its choices and times.
    pub fn samples(
        &self,
        schema: &Schema,
    ) -> impl Iterator<Item = (String, impl Iterator<Item = (&str, f64)>)> {
        let order: Vec<usize> = schema.features().iter().filter_map(|f| self.schema.slot(&f.name)).collect();
        let input = |time: &Time| self.rows[time.row as usize].input;
        // Beside other names, `true` is a name.
        let is_truth = |slot: usize| self.names(slot).all(|name| ["True", "False"].contains(&truth(name)));
        let truths: Vec<bool> = (0..self.roles.features.len()).map(is_truth).collect();
        let schema_kind = |slot: usize| self.schema.features()[slot].kind;
        self.times.chunk_by(move |a, b| input(a) == input(b)).map(move |times| {
            let texts: Vec<&str> = self.inputs[input(&times[0]) as usize].split(SEPARATOR).collect();
            let missing = |slot: usize| texts[slot] == NONE && schema_kind(slot) == FeatureKind::Numerical;
            let text = |&slot: &usize| match texts[slot] {
                _ if missing(slot) => "",
                text if truths[slot] => truth(text),
                text => text,
            };
            let fields: Vec<_> = order.iter().map(|slot| quote(text(slot))).collect();
            let samples = times.iter().map(|time| (&*self.choices[time.choice as usize], time.ms));
            (fields.join(","), samples)
        })
    }

    /// Returns the report of an import of these rows.
    pub fn report(self, params: &ImportParams) -> ImportReport {
        let mut warnings = Vec::new();
        let is_assumed = self.roles.unit_is_assumed() && !self.seen.has_own_units;
        if is_assumed {
            let columns = listed(self.roles.times.iter().map(|column| &column.name));
            warnings.push(format!(
                "nothing says what the numbers of {columns} are: they are read as milliseconds, where less is better (give --unit, or \
                 --higher-is-better for rates)"
            ));
        }
        warnings.extend(self.unfound(params));
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
        warnings.extend(self.limit());
        warnings.extend(self.numbers_in_names());
        let asked = self.roles.all_conditions().filter(|of| self.conditions[&of.text].is_found);
        let asked: Vec<&str> = asked.map(|of| &*of.column.name).collect();
        warnings.extend(self.doubts.validity(&self.fastest_rows(), &asked));
        warnings.extend(self.doubts.counts(&self.roles.times[0].name));
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
            (None, None) if self.seen.has_own_units => "the unit of each cell".to_owned(),
            (None, None) => Unit::MS.to_string(),
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

    /// Returns a sentence about the greatest time, where several rows have it and all other times are far below it.
    fn limit(&self) -> Option<String> {
        let (most, text) = &self.seen.greatest;
        let others = self.times.iter().filter(|time| time.ms < *most).map(|time| time.ms).fold(0.0, f64::max);
        let count = self.times.iter().filter(|time| time.ms == *most).count();
        let is_limit = count > 1 && others > 0.0 && *most >= LIMIT * others;
        is_limit.then(|| {
            format!("{text} is {LIMIT} or more times all other times (rows: {count}): if it stands for a failure or a limit, give --failed={text}")
        })
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

    /// Returns a sentence for each feature whose names are several numbers: `64x128`, `(8, 16)`.
    fn numbers_in_names(&self) -> impl Iterator<Item = String> {
        let is_shape = |slot: &usize| {
            self.names(*slot).all(number::is_shape) && self.names(*slot).collect::<BTreeSet<_>>().len() > 3
        };
        (0..self.roles.features.len()).filter(is_shape).map(|slot| {
            let name = &self.roles.features[slot].name;
            format!(
                "column {name} has numbers inside names, so nothing is learned for other numbers: --name-column {name} --name-pattern \
                 makes columns of them"
            )
        })
    }

    /// Returns a sentence about rows that give one choice on one input very different times.
    fn contradiction(&self, params: &ImportParams) -> Option<String> {
        // The least and the greatest time of each pair; of the repetitions in a row, the least counts.
        let mut pairs: FxHashMap<(u32, u32), [Time; 2]> = FxHashMap::default();
        for times in self.times.chunk_by(|a, b| (a.row, a.choice) == (b.row, b.choice)) {
            let least = times.iter().copied().min_by(|a, b| a.ms.total_cmp(&b.ms))?;
            let [low, high] = pairs.entry(self.pair(&least)).or_insert([least; 2]);
            if least.ms < low.ms {
                *low = least;
            }
            if least.ms > high.ms {
                *high = least;
            }
        }
        let apart = || pairs.values().filter(|[low, high]| high.ms > APART * low.ms);
        let Some([low, high]) = apart().min_by_key(|[low, high]| low.row.min(high.row)) else {
            return self.explained();
        };
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

    /// Returns the input and the choice of a time.
    fn pair(&self, time: &Time) -> (u32, u32) {
        (self.rows[time.row as usize].input, time.choice)
    }

    /// Returns a sentence about what changes the times of a choice on an input: a column without a role, or the place in a list.
    fn explained(&self) -> Option<String> {
        let times = || self.times.iter().take(MOST_COMPARED).filter(|time| time.ms.is_finite());
        // The sum of the logarithms of each pair, and their number.
        let mut sums: FxHashMap<(u32, u32), (f64, u32)> = FxHashMap::default();
        for time in times() {
            let (sum, count) = sums.entry(self.pair(time)).or_default();
            (*sum, *count) = (*sum + ln(time.ms), *count + 1);
        }
        sums.retain(|_, (_, count)| *count > 1);
        let (mut last, mut deviations) = (None, Vec::new());
        for &Time { row, choice, ms } in times() {
            let place = last
                .filter(|(of_row, of_choice, _)| (row, choice) == (*of_row, *of_choice))
                .map_or(0, |(.., at)| at + 1);
            last = Some((row, choice, place));
            let (input, row) = (self.rows[row as usize].input, row as usize);
            if let Some((sum, count)) = sums.get(&(input, choice)) {
                let log = ln(ms) - sum / f64::from(*count);
                deviations.push(Deviation { row, input, choice, place, log });
            }
        }
        self.doubts.explanation(&deviations, deviations.len() - sums.len())
    }
}
