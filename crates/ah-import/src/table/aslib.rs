//! A scenario of ASlib, the benchmark library of algorithm selection: a folder of ARFF files.
//!
//! Each instance is an input, each algorithm a choice. A run that reaches the cutoff takes the cutoff, and the log names it
//! as its time limit; a run that ends in another way without a solution failed. Values of features may be missing.

use std::path::{Path, PathBuf};

use ah_types::artefact::read_text;
use rustc_hash::FxHashMap;

use super::arff::Arff;
use super::feature_steps;
use super::rows::{Defaults, Row, Table};
use crate::cell::Cell;
use crate::error::{Fault, ImportError, RowNumber, io_error};
use crate::params::Unit;

const INSTANCE: &str = "instance_id";
const ALGORITHM: &str = "algorithm";
const TIME: &str = "runtime";
/// A run of 0 seconds is below the clock's resolution, and takes a millisecond.
const LEAST: f64 = 1e-3;
/// Statuses of a run that has no time.
const FAILED: [&str; 4] = ["memout", "not_applicable", "crash", "other"];

/// Returns the folder of a scenario: the path itself, or that of its `algorithm_runs.arff`.
pub fn folder(path: &Path) -> Option<&Path> {
    if path.is_dir() {
        return Some(path);
    }
    path.parent().filter(|_| path.file_name().is_some_and(|name| name == "algorithm_runs.arff"))
}

/// Opens a scenario.
pub fn open(path: &Path) -> Result<Table, ImportError> {
    let folder = folder(path).ok_or_else(|| {
        ImportError::unreadable(
            path,
            "the folder of an ASlib scenario, or its algorithm_runs.arff",
            "another file",
        )
    })?;
    let description = folder.join("description.txt");
    let text = read_text(&description, 1).map_err(io_error(&description, "read"))?;
    expect_times(&description, &text)?;
    let (cutoff, mut notes) = (cutoff(&description, &text)?, Vec::new());
    let features = Features::read(&folder.join("feature_values.arff"), &mut notes)?;
    let feature_times = feature_steps::times(folder, &text)?;
    let names = features.names.clone();
    let columns: Vec<String> =
        [INSTANCE, ALGORITHM, TIME].map(str::to_owned).into_iter().chain(names.iter().cloned()).collect();
    let defaults = Defaults {
        features: names,
        choice: vec![ALGORITHM.to_owned()],
        time: vec![TIME.to_owned()],
        unit: Unit::S,
        failed: &FAILED,
    };
    let rows = runs(folder.join("algorithm_runs.arff"), cutoff, features)?;
    Ok(Table {
        columns,
        defaults,
        rows: Box::new(rows),
        timeout_ms: Some(cutoff * 1e3),
        feature_times,
        notes,
    })
}

/// Returns the time limit of a run in seconds.
fn cutoff(path: &Path, description: &str) -> Result<f64, ImportError> {
    let found = value(description, "algorithm_cutoff_time");
    match found.and_then(|text| text.parse::<f64>().ok()) {
        Some(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(seconds),
        _ => {
            let found = found.map_or("none".to_owned(), |text| format!("{text:?}"));
            Err(ImportError::unreadable(path, "a line algorithm_cutoff_time with seconds above 0", found))
        }
    }
}

/// Refuses a scenario whose runs are not judged by their time.
fn expect_times(path: &Path, description: &str) -> Result<(), ImportError> {
    for (key, expected) in [("performance_type", "runtime"), ("maximize", "false")] {
        let found = value(description, key).unwrap_or(expected);
        let is_no = expected == "false" && found.eq_ignore_ascii_case("no");
        if !is_no && !found.eq_ignore_ascii_case(expected) {
            let expected = format!("{key} {expected}: only times of runs are learned from");
            return Err(ImportError::unreadable(path, &expected, format!("{found:?}")));
        }
    }
    Ok(())
}

/// Returns the value of a key of a description, which is YAML; the first one of a list.
fn value<'a>(description: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = description.lines();
    let rest = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
    let value = if rest.is_empty() { lines.next()?.trim().strip_prefix('-')?.trim() } else { rest };
    Some(value.trim_matches(['\'', '"', '[', ']']))
}

/// The features of each instance.
struct Features {
    names: Vec<String>,
    of: FxHashMap<String, Vec<Cell>>,
}

impl Features {
    fn read(path: &Path, notes: &mut Vec<String>) -> Result<Self, ImportError> {
        let arff = Arff::open(path)?;
        let instance = arff.column(path, INSTANCE)?;
        let is_feature = |column: &usize| ![INSTANCE, "repetition"].contains(&&*arff.columns[*column]);
        let columns: Vec<usize> = (0..arff.columns.len()).filter(is_feature).collect();
        let names = columns.iter().map(|&column| arff.columns[column].clone()).collect();
        let (mut of, mut repeated, mut infinite) = (FxHashMap::default(), 0_u64, 0_u64);
        for (_, row) in &arff.rows {
            let Some(name) = &row[instance] else { continue };
            if of.contains_key(name) {
                repeated += 1;
                continue;
            }
            let mut cell = |&column: &usize| {
                let cell = row[column].as_deref().map_or(Cell::Missing, Cell::untyped);
                let is_infinite = cell.as_number().is_some_and(f64::is_infinite);
                infinite += u64::from(is_infinite);
                if is_infinite { Cell::Missing } else { cell }
            };
            of.insert(name.clone(), columns.iter().map(&mut cell).collect());
        }
        let file = path.display();
        if repeated > 0 {
            notes.push(format!(
                "{file}: {repeated} further rows of instances are left out; the first one counts"
            ));
        }
        if infinite > 0 {
            notes.push(format!("{file}: {infinite} infinite values count as missing"));
        }
        Ok(Self { names, of })
    }
}

/// Returns a row a run: the instance, the algorithm, its time and the features.
fn runs(
    path: PathBuf,
    cutoff: f64,
    features: Features,
) -> Result<impl Iterator<Item = Result<Row, ImportError>>, ImportError> {
    let arff = Arff::open(&path)?;
    let column = |name: &str| arff.column(&path, name);
    let (instance, algorithm, status) = (column(INSTANCE)?, column(ALGORITHM)?, column("runstatus")?);
    // The measure has the name of the scenario's performance measure.
    let others =
        |at: &usize| ![instance, algorithm, status].contains(at) && arff.columns[*at] != "repetition";
    let measures: Vec<usize> = (0..arff.columns.len()).filter(others).collect();
    let [measure] = measures[..] else {
        let found = format!("{} columns", measures.len());
        return Err(ImportError::unreadable(&path, "one column with the time of a run in seconds", found));
    };
    let missing = vec![Cell::Missing; features.names.len()];
    let (columns, mut rows) = (arff.columns, arff.rows);
    let measure_name = columns[measure].clone();
    let row = move |(line, row): (u64, Vec<Option<String>>)| {
        let text = |column: usize| row[column].as_deref().unwrap_or_default();
        let time = match text(status) {
            "ok" => match text(measure).parse::<f64>() {
                Ok(seconds) => Cell::Number(seconds.clamp(LEAST, cutoff)),
                Err(_) => {
                    let fault = Fault::new(&measure_name, "seconds, as the run is ok", text(measure));
                    return Err(fault.at(&path, RowNumber::Line(line)));
                }
            },
            "timeout" => Cell::Number(cutoff),
            failed if FAILED.contains(&failed) => Cell::Name(failed.to_owned()),
            unknown => {
                let expected = format!("ok, timeout or one of {}", FAILED.join(", "));
                return Err(Fault::new("runstatus", expected, format!("{unknown:?}"))
                    .at(&path, RowNumber::Line(line)));
            }
        };
        let name = |column: usize| Cell::Name(text(column).to_owned());
        let mut cells = vec![name(instance), name(algorithm), time];
        cells.extend_from_slice(features.of.get(text(instance)).unwrap_or(&missing));
        Ok(Row { number: RowNumber::Line(line), cells })
    };
    // A file may list all runs of an algorithm together: a log holds those of an instance.
    let mut first: FxHashMap<Option<String>, usize> = FxHashMap::default();
    for (_, row) in &rows {
        let next = first.len();
        first.entry(row[instance].clone()).or_insert(next);
    }
    rows.sort_by_key(|(_, row)| first[&row[instance]]);
    Ok(rows.into_iter().map(row))
}
