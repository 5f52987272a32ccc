//! The report of an import, for people and as JSON.

use std::fmt;
use std::path::PathBuf;

use ah_model::FeatureKind;
use ah_model::shown::listed;
use serde::Serialize;

use crate::contents::Contents;
use crate::params::ImportParams;
use crate::unit::Unit;

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ImportReport {
    /// The log.
    pub log: PathBuf,
    /// The tools that wrote the tables, as `--tool` names them.
    pub tools: Vec<String>,
    /// The rows of the tables.
    pub rows: u64,
    /// The number of inputs.
    pub inputs: u64,
    /// The number of choices.
    pub choices: usize,
    /// The names of the choices, sorted.
    pub choice_names: Vec<String>,
    /// The unit of the times in the tables; "rates" with --higher-is-better.
    pub unit: String,
    /// The times that were measured.
    pub measured: u64,
    /// The times by which a choice failed.
    pub failed: u64,
    /// The times that are missing; the log has no row for them.
    pub not_measured: u64,
    /// The rows that were skipped.
    pub bad_rows: u64,
    /// The rows that `--where` left out.
    pub rows_left_out: u64,
    /// The numerical features.
    pub numerical: Vec<String>,
    /// The categorical features.
    pub categorical: Vec<String>,
    /// The columns of the first table that have no role; the log does not have them.
    pub unused: Vec<String>,
    /// Sentences for the user.
    pub warnings: Vec<String>,
}

impl ImportReport {
    /// The report of an import of these rows.
    pub(crate) fn new(contents: &Contents, params: &ImportParams) -> Self {
        let names = |kind| contents.schema.names(kind).map(str::to_owned).collect();
        let failed = contents.times.iter().filter(|time| time.ms.is_infinite()).count();
        let mut choice_names: Vec<String> = contents.choices.iter().cloned().collect();
        choice_names.sort_unstable();
        Self {
            log: params.output.clone(),
            tools: contents.tools.iter().cloned().collect(),
            rows: contents.rows.len() as u64,
            inputs: contents.inputs.len() as u64,
            choices: choice_names.len(),
            choice_names,
            unit: unit(contents),
            measured: (contents.times.len() - failed) as u64,
            failed: failed as u64,
            not_measured: contents.not_measured,
            bad_rows: contents.bad_rows.count(),
            rows_left_out: contents.rows_left_out,
            numerical: names(FeatureKind::Numerical),
            categorical: names(FeatureKind::Categorical),
            unused: contents.roles.unused().map(|column| column.name.clone()).collect(),
            warnings: contents.warnings(params),
        }
    }
}

/// The unit of the times in the tables, in words.
fn unit(contents: &Contents) -> String {
    let roles = &contents.roles;
    let mut named = roles.times.iter().map(|time| &time.named);
    let first = named.next().and_then(Option::as_ref);
    match (first, &roles.unit) {
        (Some(_), _) if named.any(|other| other.as_ref() != first) => "the unit of each column".to_owned(),
        (Some(named), _) => named.to_string(),
        (None, Some(column)) => format!("the unit in {}", column.name),
        (None, None) if roles.params.higher_is_better => "rates".to_owned(),
        (None, None) if contents.seen.has_own_units => "the unit of each cell".to_owned(),
        (None, None) => Unit::MS.to_string(),
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.tools.is_empty() {
            writeln!(f, "read as {}", listed(&self.tools))?;
        }
        write!(f, "{} rows", self.rows)?;
        if self.rows_left_out > 0 {
            write!(f, " (left out by --where: {})", self.rows_left_out)?;
        }
        writeln!(
            f,
            ": {} inputs, {} choices; {} times, in {}, {} failed, {} not measured",
            self.inputs, self.choices, self.measured, self.unit, self.failed, self.not_measured
        )?;
        writeln!(f, "choices: {}", listed(&self.choice_names))?;
        for (kind, names) in [("numerical", &self.numerical), ("categorical", &self.categorical)] {
            if !names.is_empty() {
                writeln!(f, "{kind}: {}", listed(names))?;
            }
        }
        if !self.unused.is_empty() {
            writeln!(f, "left out: {}", listed(&self.unused))?;
        }
        writeln!(f, "wrote {}", self.log.display())
    }
}
