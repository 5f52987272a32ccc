//! The report of a merge: its data, and its text for people.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::machines::MachineComparison;
use crate::log::metadata::Difference;

/// Files named in one line.
const SHOWN: usize = 3;
/// With more logs than this, only those with something to report have a line of their own.
const LISTED: usize = 20;

/// The report of a merge.
#[derive(Clone, Debug, serde::Serialize)]
pub struct MergeReport {
    /// The logs in order.
    pub logs: Vec<MergedLog>,
    /// Whether the machines agree.
    pub comparison: MachineComparison,
    /// The positions of the logs whose times were scaled.
    pub scaled: Vec<usize>,
}

/// One log in the report.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct MergedLog {
    /// The log.
    pub path: PathBuf,
    /// Inputs in the merged log.
    pub inputs: u64,
    /// Rows in the merged log.
    pub rows: u64,
    /// Inputs left out because an earlier log holds them.
    pub repeated_inputs: u64,
    /// Their rows.
    pub repeated_rows: u64,
    /// Blank lines left out.
    pub blank_lines: u64,
    /// Malformed rows left out.
    pub bad_rows: u64,
    /// The message of the first of them.
    pub bad_row: Option<String>,
    /// The number of the last line, left out because it has no line end.
    pub torn_line: Option<u64>,
    /// The differences of its metadata from the first log's.
    pub differences: Vec<Difference>,
}

impl MergeReport {
    /// Returns the number of inputs in the merged log.
    pub fn inputs(&self) -> u64 {
        self.logs.iter().map(|log| log.inputs).sum()
    }

    /// Returns the number of rows in the merged log.
    pub fn rows(&self) -> u64 {
        self.logs.iter().map(|log| log.rows).sum()
    }
}

impl fmt::Display for MergeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} inputs, {} rows from {} logs", self.inputs(), self.rows(), self.logs.len())?;
        for log in self.logs.iter().filter(|log| self.logs.len() <= LISTED || log.is_odd()) {
            write!(f, "\n{log}")?;
        }
        let mut differences: BTreeMap<String, Vec<&PathBuf>> = BTreeMap::new();
        for log in &self.logs {
            for difference in &log.differences {
                let Difference { key, log: first, other } = difference;
                differences.entry(format!("{key} is {other}, not {first}")).or_default().push(&log.path);
            }
        }
        for (difference, paths) in &differences {
            write!(f, "\nmetadata: {difference} in {}", named(paths))?;
        }
        let paths: Vec<PathBuf> = self.logs.iter().map(|log| log.path.clone()).collect();
        self.comparison_lines(f, &paths)
    }
}

impl MergeReport {
    fn comparison_lines(&self, f: &mut fmt::Formatter<'_>, paths: &[PathBuf]) -> fmt::Result {
        let MachineComparison { reference, inputs, machines, apart, tolerance } = &self.comparison;
        let Some(reference) = reference else {
            return write!(
                f,
                "\nmachines: no input is in two logs, so it is unknown whether the machines agree; let each \
                 measure the same few inputs first (ah-collect --draws 32)"
            );
        };
        write!(f, "\nmachines: compared on {inputs} inputs with {}", paths[*reference].display())?;
        let disagreeing = self.comparison.sentences(paths);
        for sentence in &disagreeing {
            write!(f, "\n  {sentence}")?;
        }
        let agreeing = machines.len() - self.comparison.disagreeing().count();
        if agreeing > 0 {
            let machines = if agreeing == 1 {
                "1 other machine agrees"
            } else {
                &format!("{agreeing} other machines agree")
            };
            write!(f, "\n  {machines} within {:.1} %", 100.0 * tolerance)?;
        }
        if !apart.is_empty() {
            let apart: Vec<&PathBuf> = apart.iter().map(|log| &paths[*log]).collect();
            write!(f, "\n  not compared, because they share no measured input: {}", named(&apart))?;
        }
        match (disagreeing.is_empty(), self.scaled.is_empty()) {
            (true, _) => Ok(()),
            (_, true) => write!(f, "\n  their times were kept as they are"),
            (_, false) => write!(f, "\n  their times were divided by these ratios"),
        }
    }
}

impl MergedLog {
    /// Returns true if something of the log was left out, repeated inputs apart.
    fn is_odd(&self) -> bool {
        self.rows == 0 || self.blank_lines + self.bad_rows > 0 || self.torn_line.is_some()
    }
}

impl fmt::Display for MergedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, inputs, rows, repeated_inputs, repeated_rows, blank_lines, bad_rows, .. } = self;
        write!(f, "{}: {inputs} inputs, {rows} rows", path.display())?;
        if *repeated_inputs > 0 {
            write!(
                f,
                "; left out {repeated_inputs} inputs that an earlier log holds ({repeated_rows} rows)"
            )?;
        }
        if *blank_lines > 0 {
            write!(f, "; left out {blank_lines} blank lines")?;
        }
        if let Some(line) = self.torn_line {
            write!(f, "; left out the last line ({line}), which has no line end")?;
        }
        if let Some(first) = &self.bad_row {
            write!(f, "; left out {bad_rows} malformed rows: {first}")?;
        }
        Ok(())
    }
}

fn named(paths: &[&PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().take(SHOWN).map(|path| path.display().to_string()).collect();
    let more = paths.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}
