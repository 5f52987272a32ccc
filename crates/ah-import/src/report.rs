//! The report of an import, for people and as JSON.

use std::fmt;
use std::path::PathBuf;

use ah_model::shown::listed;
use serde::Serialize;

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

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.tools.is_empty() {
            writeln!(f, "read as {}", listed(&self.tools))?;
        }
        write!(f, "{} rows", self.rows)?;
        if self.rows_left_out > 0 {
            write!(f, " (left out by --where: {})", self.rows_left_out)?;
        }
        write!(f, ": {} inputs, {} choices", self.inputs, self.choices)?;
        writeln!(
            f,
            "; {} times, in {}, {} failed, {} not measured",
            self.measured, self.unit, self.failed, self.not_measured
        )?;
        writeln!(f, "choices: {}", listed(&self.choice_names))?;
        for (kind, names) in [("numerical", &self.numerical), ("categorical", &self.categorical)] {
            if !names.is_empty() {
                writeln!(f, "{kind}: {}", listed(names))?;
            }
        }
        let unused: Vec<&String> = self.unused.iter().filter(|name| !name.is_empty()).collect();
        if !unused.is_empty() {
            writeln!(f, "left out: {}", listed(unused))?;
        }
        writeln!(f, "wrote {}", self.log.display())
    }
}
