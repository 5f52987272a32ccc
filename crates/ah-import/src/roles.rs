//! The roles of a table's columns, by the flags.

use std::path::Path;

use ah_model::shown::{did_you_mean, listed, quoted};
use ah_model::{Error, Fault};
use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::column::{Column, is_named};
use crate::condition::Condition;
use crate::named;
use crate::params::ImportParams;
use crate::preset::Preset;
use crate::quantity::Quantity;
use crate::table::{Row, Table};
use crate::time_columns::{self, names_units};
use crate::times::TimeColumn;
use crate::words;

/// The role of each column.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    pub features: Vec<Column>,
    /// The columns whose values make up the choice; empty in a wide table.
    pub choice: Vec<Column>,
    /// The columns of the times; in a wide table one for each choice.
    pub times: Vec<TimeColumn>,
    /// The columns with names that have no role but in conditions.
    pub watched: Vec<Column>,
    /// The column without a role that has the unit of each row's times, as in Google Benchmark's files.
    pub unit: Option<Column>,
    /// The flags, with those of the tool.
    pub params: ImportParams,
    /// The conditions that each row fulfils.
    pub conditions: Vec<Condition>,
    /// The conditions of rows that failed.
    pub failed_where: Vec<Condition>,
}

impl Roles {
    /// Finds the columns that the flags name, or the format by itself.
    pub fn find(
        path: &Path,
        table: &Table,
        first: &[Result<Row, Error>],
        params: &ImportParams,
    ) -> Result<Self, Error> {
        let finder = Finder::new(path, table, params);
        let features = finder.features()?;
        let (choice, times) =
            if params.wide { (Vec::new(), finder.wide(&features)?) } else { finder.long(&features)? };
        finder.all("categorical", &params.categorical)?;
        let conditions = finder.conditions("where", &params.only_where)?;
        let failed_where = finder.conditions("failed_where", &params.failed_where)?;
        each_once(&[("features", &features), ("choice", &choice), ("time", &times)])?;
        let used = features.iter().chain(&choice).chain(&times).map(|column| column.index);
        let used: FxHashSet<usize> = used.collect();
        let watched = table.columns.iter().enumerate();
        let watched = watched.filter(|(at, name)| !used.contains(at) && !name.is_empty());
        let watched: Vec<Column> = watched.map(|(index, name)| finder.at(index, name)).collect();
        let unit = watched.iter().filter(|column| names_units(&column.name));
        // Of several, the one whose name is most like that of the times: `primaryMetric.scoreUnit` for `primaryMetric.score`.
        let likeness = |column: &&Column| {
            let alike = |(a, b): &(char, char)| a == b;
            let common = times[0].name.chars().zip(column.name.chars()).take_while(alike).count();
            (common, column.name.contains("time"))
        };
        // Where nothing else says what the numbers are, a column of units does.
        let is_silent = params.unit.is_none() && times.iter().all(|time| named::of(&time.name) == Ok(None));
        let has_units = |column: &&Column| is_silent && holds_units(column, first);
        let unit = unit.max_by_key(likeness).or_else(|| watched.iter().find(has_units)).cloned();
        let times = time_columns::of(times, params, unit.is_some())?;
        let params = params.clone();
        Ok(Self { unit, watched, features, choice, times, params, conditions, failed_where })
    }

    /// Whether nothing names the unit of the times.
    pub fn unit_is_assumed(&self) -> bool {
        let is_named = self.times.iter().any(|time| time.named.is_some());
        !is_named && self.unit.is_none() && !self.params.higher_is_better
    }

    /// The columns without a role.
    pub fn unused(&self) -> impl Iterator<Item = &Column> {
        let is_asked = |column: &Column| self.all_conditions().any(|of| of.column.index == column.index);
        self.watched.iter().filter(move |column| !is_asked(column))
    }

    /// The conditions of `--where` and `--failed-where`.
    pub fn all_conditions(&self) -> impl Iterator<Item = &Condition> {
        self.conditions.iter().chain(&self.failed_where)
    }

    /// Checks that this table has the features of the first one, in the same order.
    pub fn same_features(&self, path: &Path, features: &[Column], first: &Path) -> Result<(), Error> {
        let [ours, theirs] = [&self.features[..], features].map(|columns| columns.iter().map(|of| &of.name));
        if ours.clone().eq(theirs.clone()) {
            return Ok(());
        }
        let expected = format!("the features {}, as in {}", listed(theirs), first.display());
        let hint = "name the features of all tables with --features";
        Err(Fault::new(expected, listed(ours), hint).of_file(path).into())
    }

    /// Whether each choice has a column of times.
    pub fn is_wide(&self) -> bool {
        self.choice.is_empty()
    }
}

/// Whether the cells of a column in these rows are units. Words that mean something else too, as `min`, do not show it alone.
fn holds_units(column: &Column, rows: &[Result<Row, Error>]) -> bool {
    let texts = || rows.iter().flatten().filter_map(|row| column.cell(&row.cells).as_text());
    texts().all(|text| Quantity::of_unit(text).is_some())
        && texts().any(|text| !["min", "h", "s"].contains(&&*text.to_lowercase()))
}

/// Checks that no column has two roles or one role twice, and that no two features have one name.
fn each_once(roles: &[(&'static str, &Vec<Column>)]) -> Result<(), Error> {
    let mut columns = FxHashSet::default();
    let mut features = FxHashSet::default();
    for (role, column) in roles.iter().flat_map(|(role, columns)| columns.iter().map(move |of| (*role, of))) {
        let is_new = columns.insert((column.index, &column.path));
        if !is_new || role == "features" && !features.insert(&column.name) {
            let expected = "each column once: as a feature, in the choice or as its time";
            return Err(Error::parameter(role, expected, format!("{} twice", quoted(&column.name))));
        }
    }
    Ok(())
}

/// The most parts that commas in the name of a column make.
const MOST_COMMAS: usize = 8;

struct Finder<'a> {
    path: &'a Path,
    columns: &'a [String],
    /// The positions of the columns of each name.
    places: FxHashMap<&'a str, Vec<usize>>,
    preset: &'a Preset,
    params: &'a ImportParams,
}

impl<'a> Finder<'a> {
    fn new(path: &'a Path, table: &'a Table, params: &'a ImportParams) -> Self {
        let columns = &table.columns;
        let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (place, name) in columns.iter().enumerate() {
            places.entry(name).or_default().push(place);
        }
        Self { path, columns, places, preset: &table.preset, params }
    }

    /// The column of this name, or of a path of keys that alone ends with it; or a place in the lists of such a column.
    ///
    /// # Errors
    /// A column that the table lacks, or has twice.
    fn column(&self, field: &'static str, name: &str) -> Result<Column, Error> {
        let find = |name: &str| {
            self.places.get(name).map(|places| places[0]).or_else(|| {
                let mut ends = self.columns.iter().enumerate().filter(|(_, column)| is_named(column, name));
                ends.next().map(|(place, _)| place).filter(|_| ends.next().is_none())
            })
        };
        let mut rest = name;
        let mut path = Vec::new();
        let mut index = find(rest);
        while index.is_none()
            && let Some((before, place)) = rest.rsplit_once('.')
            && let Ok(place) = place.parse()
        {
            path.insert(0, place);
            rest = before;
            index = find(rest);
        }
        let index = index.ok_or_else(|| {
            let found = format!("{}{}", quoted(name), did_you_mean(name, self.columns));
            Error::parameter(field, format!("one of the columns of {}", self.known()), found)
        })?;
        if self.places[&*self.columns[index]].len() > 1 {
            let expected = format!("one column of {} with this name (rename one)", self.path.display());
            return Err(Error::parameter(field, expected, format!("two columns {}", quoted(name))));
        }
        Ok(Column { path, ..self.at(index, name) })
    }

    /// The column at this position.
    fn at(&self, index: usize, name: &str) -> Column {
        let categorical = self.params.categorical.iter().any(|column| column == name);
        Column { index, path: Vec::new(), name: name.to_owned(), categorical, decimal: self.params.decimal }
    }

    fn conditions(&self, field: &'static str, texts: &[String]) -> Result<Vec<Condition>, Error> {
        let find = |name: &str| self.column(field, name);
        texts.iter().map(|text| Condition::new(field, text, find)).collect()
    }

    fn all(&self, field: &'static str, names: &[String]) -> Result<Vec<Column>, Error> {
        let mut columns = Vec::new();
        let mut rest = names;
        while !rest.is_empty() {
            // The flag splits `time, us` too.
            let joined = |count: usize| rest[..count].join(",");
            let is_column = |count: &usize| self.places.contains_key(&*joined(*count));
            let count = (1..=rest.len().min(MOST_COMMAS)).find(is_column).unwrap_or(1);
            columns.push(self.column(field, &joined(count))?);
            rest = &rest[count..];
        }
        Ok(columns)
    }

    /// The columns that a format names, as far as the table has them. In `params.*`, the star is the column's name.
    fn by_default(&self, names: &IndexSet<String>) -> Vec<Column> {
        let columns = names.iter().flat_map(|name| match name.split_once('*') {
            None => self.column("", name).into_iter().collect::<Vec<_>>(),
            Some((start, end)) => {
                let part = |column: &'a String| {
                    let at = column.find(start).filter(|at| *at == 0 || column[..*at].ends_with('.'))?;
                    column[at + start.len()..].strip_suffix(end)
                };
                let columns = self.columns.iter().enumerate();
                columns.filter_map(|(index, column)| Some(self.at(index, part(column)?))).collect()
            }
        });
        columns.collect()
    }

    /// The columns that a flag names, else those of the tool that are free.
    fn given(
        &self,
        field: &'static str,
        names: &[String],
        of_tool: &IndexSet<String>,
        is_free: impl Fn(&Column) -> bool,
    ) -> Result<Vec<Column>, Error> {
        if !names.is_empty() {
            return self.all(field, names);
        }
        Ok(self.by_default(of_tool).into_iter().filter(is_free).collect())
    }

    fn missing(&self, field: &'static str, expected: &str) -> Error {
        Error::parameter(field, expected, format!("none among the columns of {}", self.known()))
    }

    /// The table and its columns, in words.
    fn known(&self) -> String {
        match self.columns {
            [] => format!("{}, which has none", self.path.display()),
            columns => format!("{}, which are {}", self.path.display(), listed(columns)),
        }
    }

    fn features(&self) -> Result<Vec<Column>, Error> {
        let constants = self.params.constants()?;
        let choice = self.all("choice", &self.params.choice).unwrap_or_default();
        let is_free = |column: &Column| {
            let is_set = constants.iter().any(|(name, _)| *name == column.name);
            !is_set && choice.iter().all(|of| of.index != column.index)
        };
        let mut features = self.given("features", &self.params.features, &self.preset.features, is_free)?;
        let constants = constants.iter().enumerate();
        features.extend(constants.map(|(at, (name, _))| self.at(self.columns.len() + at, name)));
        if features.is_empty() {
            let expected = "the columns that are known when choosing (or --set, or --name-pattern, which makes columns of a \
                            name)";
            return Err(self.missing("features", expected));
        }
        if let Some(taken) = features.iter().find(|f| ["choice", "feedback"].contains(&f.name.as_str())) {
            let expected = "other names than those of the log's own columns; rename it in the table";
            return Err(Error::parameter("features", expected, quoted(&taken.name)));
        }
        Ok(features)
    }

    /// A column a choice: the named ones, else all that are no features. A column without a name is
    /// the index that pandas writes.
    fn wide(&self, features: &[Column]) -> Result<Vec<Column>, Error> {
        if !self.params.choice.is_empty() {
            return self.all("choice", &self.params.choice);
        }
        let others = self.columns.iter().enumerate().filter(|(at, name)| {
            features.iter().all(|of| of.index != *at)
                && !name.is_empty()
                && !name.starts_with("__index_level_")
        });
        let others: Vec<String> = others.map(|(_, name)| name.clone()).collect();
        let statistics = words::statistics_of_one(&others);
        // A count or a ratio is no time, nor is the number of a row, or a feature that was forgotten.
        let is_other = |name: &&String| words::is_label(name) || named::of(name).is_err();
        let odd: Vec<&String> = others.iter().filter(is_other).collect();
        let found = if others.is_empty() {
            return Err(self.missing("wide", "columns of times besides the features"));
        } else if !statistics.is_empty() {
            format!("statistics of one: {}", listed(statistics))
        } else if words::repetitions(&others) {
            format!("what may be repetitions: {} (then write a row for each)", listed(&others))
        } else if words::types(&others) {
            format!("what may be types of the input: {} (then write a row for each type)", listed(&others))
        } else if !odd.is_empty() {
            format!("what may be no choices: {}", listed(odd))
        } else {
            return self.all("choice", &others);
        };
        let expected = "a column of times for each choice (name these with --choice)";
        Err(Error::parameter("wide", expected, found))
    }

    /// A row a timing: the columns of the choice, and of the times.
    fn long(&self, features: &[Column]) -> Result<(Vec<Column>, Vec<Column>), Error> {
        let is_free = |column: &Column| features.iter().all(|of| of.index != column.index);
        let choice = self.given("choice", &self.params.choice, &self.preset.choice, is_free)?;
        if choice.is_empty() {
            let expected =
                "the columns that make up the choice, or --wide where each choice has a column of times";
            return Err(self.missing("choice", expected));
        }
        let mut time = self.all("time", &self.params.time)?;
        if time.is_empty() {
            let known = self.preset.time.iter().find_map(|name| self.column("time", name).ok());
            time = vec![known.ok_or_else(|| self.missing("time", "the column of the times"))?];
        }
        let names: Vec<&String> = time.iter().map(|column| &column.name).collect();
        let statistics = words::statistics_of_one(names.iter().copied());
        if names.len() > 1 && !statistics.is_empty() {
            let expected = "columns of repetitions, not several statistics of them (name one)";
            return Err(Error::parameter("time", expected, listed(statistics)));
        }
        Ok((choice, time))
    }
}
