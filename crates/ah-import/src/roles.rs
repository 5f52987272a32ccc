//! The roles of a table's columns, by the flags.

use std::path::Path;

use ah_model::shown::{did_you_mean, listed, quoted};
use ah_model::{Error, Fault};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cell::Table;
use crate::params::{ImportParams, Unit};
use crate::times::TimeRules;
use crate::tools::Defaults;

/// A column by its position and name. The values of `--set` are further columns behind those of the table.
#[derive(Clone, Debug)]
pub struct Column {
    pub index: usize,
    pub name: String,
    /// Its values are names, even if they read as numbers.
    pub categorical: bool,
}

/// The role of each column.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    pub features: Vec<Column>,
    /// The columns whose values make up the choice; empty in a wide table.
    pub choice: Vec<Column>,
    /// The columns of the times; in a wide table each belongs to the choice of its name.
    pub times: Vec<Column>,
    /// The columns without a role.
    pub unused: Vec<String>,
    /// The column without a role that names the unit of each row's times, as in Google Benchmark's files.
    pub unit: Option<Column>,
    pub rules: TimeRules,
}

impl Roles {
    /// Finds the columns that the flags name, or the format by itself.
    pub fn find(path: &Path, table: &Table, params: &ImportParams) -> Result<Self, Error> {
        let defaults = &table.defaults;
        let finder = Finder::new(path, &table.columns, params);
        let features = finder.features(defaults)?;
        let of_features: FxHashSet<usize> = features.iter().map(|column| column.index).collect();
        let (choice, times) = if params.wide {
            (Vec::new(), finder.wide(&of_features)?)
        } else {
            finder.long(defaults, &of_features)?
        };
        finder.all("--categorical", &params.categorical)?;
        let others: FxHashSet<usize> = choice.iter().chain(&times).map(|column| column.index).collect();
        let is_unused = |(at, _): &(usize, &String)| !of_features.contains(at) && !others.contains(at);
        let unused: Vec<(usize, &String)> = table.columns.iter().enumerate().filter(is_unused).collect();
        let is_unit = |(_, name): &&(usize, &String)| name.to_lowercase().ends_with("unit");
        let has_units = defaults.tool.is_none() && !params.higher_is_better;
        let of_rows =
            unused.iter().filter(is_unit).max_by_key(|(_, name)| name.contains("time")).filter(|_| has_units);
        let failed = params.failed.iter().flatten().filter(|text| !text.is_empty()).cloned();
        // The unit that the names of all columns of `--time` end with.
        let first = params.time.first().and_then(|column| Unit::named_by(column));
        let of_columns = first.filter(|_| params.time.iter().all(|column| Unit::named_by(column) == first));
        let unit = params.unit.or(of_columns).or(defaults.tool.map(|_| Unit::Ms));
        // `gemm_s` of a wide table may be a choice in single precision, or a time in seconds.
        let named: Vec<&String> =
            times.iter().map(|c| &c.name).filter(|c| Unit::named_by(c).is_some()).collect();
        if unit.is_none() && has_units && of_rows.is_none() && !named.is_empty() {
            let expected = "the unit of all times (ns, us, ms or s)";
            return Err(Error::parameter(
                "--unit",
                expected,
                format_args!("none, and columns {}", listed(named)),
            ));
        }
        let of_tool = defaults.tool.iter().flat_map(|tool| tool.failed);
        let rules = TimeRules {
            unit,
            higher_is_better: params.higher_is_better,
            missing_is_failed: params.failed.is_some(),
            failed: failed.chain(of_tool.map(|&text| text.to_owned())).collect(),
        };
        Ok(Self {
            unit: of_rows.map(|&(index, name)| Column { index, name: name.clone(), categorical: true }),
            unused: unused.into_iter().map(|(_, name)| name.clone()).collect(),
            features,
            choice,
            times,
            rules,
        })
    }

    /// Returns true if nothing names the unit of the times.
    pub fn unit_is_assumed(&self) -> bool {
        self.rules.unit.is_none() && self.unit.is_none() && !self.rules.higher_is_better
    }

    /// Checks that this table has the features of the first one, in the same order.
    pub fn same_features(&self, path: &Path, features: &[Column], first: &Path) -> Result<(), Error> {
        let names = |columns: &[Column]| columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        let (ours, theirs) = (names(&self.features), names(features));
        if ours == theirs {
            return Ok(());
        }
        let expected = format!("the features {}, as in {}", listed(theirs), first.display());
        let hint = "name the features of all tables with --features";
        Err(Fault::new(expected, listed(ours), hint).of_file(path).into())
    }

    /// Returns true if each choice has a column of times.
    pub fn is_wide(&self) -> bool {
        self.choice.is_empty()
    }
}

struct Finder<'a> {
    path: &'a Path,
    columns: &'a [String],
    /// The position of each column by its name.
    places: FxHashMap<&'a str, usize>,
    params: &'a ImportParams,
}

impl<'a> Finder<'a> {
    fn new(path: &'a Path, columns: &'a [String], params: &'a ImportParams) -> Self {
        // The first of equal names counts.
        let places = columns.iter().enumerate().rev().map(|(place, name)| (name.as_str(), place)).collect();
        Self { path, columns, places, params }
    }

    /// Returns the column of this name, or of a path of keys that alone ends with it.
    fn column(&self, flag: &'static str, name: &str) -> Result<Column, Error> {
        let ends = |column: &String| column.strip_suffix(name).is_some_and(|keys| keys.ends_with('.'));
        let only_end = || {
            let mut ends = self.columns.iter().enumerate().filter(|(_, column)| ends(column));
            ends.next().map(|(place, _)| place).filter(|_| ends.next().is_none())
        };
        let index = self.places.get(name).copied().or_else(only_end);
        let index = index.ok_or_else(|| {
            let known = match self.columns {
                [] => "the table has none".to_owned(),
                columns => format!("the columns are {}", listed(columns)),
            };
            let (path, column) = (self.path.display(), quoted(name));
            let proposal = did_you_mean(name, self.columns);
            Error::Usage(format!("{path}: {flag}: there is no column {column}; {known}{proposal}"))
        })?;
        let categorical = self.params.categorical.iter().any(|column| column == name);
        Ok(Column { index, name: name.to_owned(), categorical })
    }

    fn all<'n>(
        &self,
        flag: &'static str,
        names: impl IntoIterator<Item = &'n String>,
    ) -> Result<Vec<Column>, Error> {
        names.into_iter().map(|name| self.column(flag, name)).collect()
    }

    fn missing(&self, flag: &'static str, expected: &str) -> Error {
        let found = format!("none; the columns of {} are {}", self.path.display(), listed(self.columns));
        Error::parameter(flag, expected, found)
    }

    fn features(&self, defaults: &Defaults) -> Result<Vec<Column>, Error> {
        let constants = self.params.constants()?;
        let free = |name: &String| {
            !self.params.choice.contains(name) && !constants.iter().any(|(set, _)| set == name)
        };
        let by_default: Vec<String> = defaults.features.iter().filter(|name| free(name)).cloned().collect();
        let names = if self.params.features.is_empty() { &by_default } else { &self.params.features };
        let mut features = self.all("--features", names)?;
        features.extend(constants.iter().enumerate().map(|(at, (name, _))| Column {
            index: self.columns.len() + at,
            name: (*name).to_owned(),
            categorical: false,
        }));
        if features.is_empty() {
            return Err(self.missing("--features", "the columns that are known when choosing (or --set)"));
        }
        if let Some(taken) = features.iter().find(|f| ["choice", "feedback"].contains(&f.name.as_str())) {
            let expected = "other names than those of the log's own columns; rename it in the table";
            return Err(Error::parameter("--features", expected, quoted(&taken.name)));
        }
        Ok(features)
    }

    /// Returns a column a choice: the named ones, else all that are no features. A column without a name is
    /// the index that pandas writes.
    fn wide(&self, of_features: &FxHashSet<usize>) -> Result<Vec<Column>, Error> {
        let others = self.columns.iter().enumerate().filter(|(at, name)| {
            !of_features.contains(at) && !name.is_empty() && !name.starts_with("__index_level_")
        });
        let others: Vec<String> = others.map(|(_, name)| name.clone()).collect();
        let names = if self.params.choice.is_empty() { &others } else { &self.params.choice };
        if names.is_empty() {
            return Err(self.missing("--wide", "columns of times besides the features"));
        }
        self.all("--choice", names)
    }

    /// Returns a row a timing: the columns of the choice, and of the times.
    fn long(
        &self,
        defaults: &Defaults,
        of_features: &FxHashSet<usize>,
    ) -> Result<(Vec<Column>, Vec<Column>), Error> {
        let mut choice = self.all("--choice", &self.params.choice)?;
        if choice.is_empty() {
            choice = self.all("--choice", &defaults.choice)?;
            choice.retain(|column| !of_features.contains(&column.index));
        }
        if choice.is_empty() {
            let expected =
                "the columns that make up the choice, or --wide where each choice has a column of times";
            return Err(self.missing("--choice", expected));
        }
        let time = match (&self.params.time[..], defaults.tool) {
            ([], Some(tool)) => vec![self.column("--time", tool.time)?],
            ([], None) => return Err(self.missing("--time", "the column of the times")),
            (named, _) => self.all("--time", named)?,
        };
        if let Some(both) = choice.iter().find(|column| time.iter().any(|time| time.index == column.index)) {
            let expected = "a column that is not the choice";
            return Err(Error::parameter("--time", expected, quoted(&both.name)));
        }
        Ok((choice, time))
    }
}
