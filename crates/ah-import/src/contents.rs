//! The rows of all tables in memory: each input and each choice once, and 16 bytes a time.

use std::rc::Rc;

use ah_types::log::RowBatch;
use ah_types::shown::listed;
use ah_types::{FeatureKind, Place, Schema, Tally};
use rustc_hash::FxHashMap;

use crate::error::ImportError;
use crate::kinds::Kinds;
use crate::params::ImportParams;
use crate::report::ImportReport;
use crate::roles::Roles;
use crate::row::RowReader;
use crate::suspicions::{Repetitions, RowId, are_mostly_short};
use crate::table::{self, Row};

/// More choices than this are a column of measurements by mistake, and would fill the memory.
const MOST_CHOICES: usize = 1_000_000;

/// Between the texts of an input's features, none of which contains it.
const SEPARATOR: &str = "\n";

/// The rows of all tables.
#[derive(Default)]
pub struct Contents {
    pub schema: Schema,
    inputs: Names,
    choices: Names,
    /// (input, choice, milliseconds), in the order of the rows.
    times: Vec<(u32, u32, f64)>,
    repetitions: Repetitions,
    bad_rows: Tally,
    /// The names of the features, in the order of each input's text.
    features: Vec<String>,
    /// Whether nobody named the unit of the times.
    is_unit_assumed: bool,
    /// The counts of rows and times so far.
    counts: ImportReport,
}

impl Contents {
    /// Reads all tables.
    ///
    /// # Errors
    /// The first row that cannot be imported, unless such rows are to be skipped; a feature that is a number in some
    /// rows and a name in others; a table without times.
    pub fn read(params: &ImportParams) -> Result<Self, ImportError> {
        let mut contents = Self::default();
        let mut kinds = Vec::new();
        for (table, path) in params.tables.iter().enumerate() {
            contents.read_table(params, table, path, &mut kinds)?;
        }
        let too_little = |what: &str, hint| {
            let what = format!("{}: {what}", params.tables[0].display());
            Err(ImportError::TooLittle { what, hint })
        };
        if contents.counts.rows == 0 {
            return too_little("the table has no rows to import", "measure some inputs first");
        }
        let features = kinds.into_iter().map(Kinds::feature).collect::<Result<Vec<_>, _>>()?;
        contents.schema = Schema::new(features)
            .map_err(|e| ImportError::parameter("--features", "each column once", e.to_string()))?;
        if contents.is_unit_assumed && are_mostly_short(contents.times.iter().map(|time| time.2)) {
            let found = "none, and times that are mostly below 5 ns if they are in milliseconds";
            return Err(ImportError::parameter("--unit", "the unit of the times (ns, us, ms or s)", found));
        }
        if contents.times.is_empty() {
            let what = format!("no row holds a time (rows: {})", contents.counts.rows);
            return too_little(&what, "name the column of the times with --time");
        }
        Ok(contents)
    }

    fn read_table(
        &mut self,
        params: &ImportParams,
        index: usize,
        path: &std::path::Path,
        kinds: &mut Vec<Kinds>,
    ) -> Result<(), ImportError> {
        let table = table::open(path, params)?;
        let mut reader = RowReader::new(Roles::find(path, &table, params)?);
        if kinds.is_empty() {
            self.is_unit_assumed = reader.roles.rules.is_assumed;
            kinds.extend(reader.roles.features.iter().map(Kinds::new));
            self.counts.unused.clone_from(&reader.roles.unused);
            let rules = &reader.roles.rules;
            self.counts.unit =
                if rules.higher_is_better { "rates".to_owned() } else { rules.unit.to_string() };
            self.features = reader.roles.features.iter().map(|role| role.name().to_owned()).collect();
        }
        reader.roles.same_features(path, &self.features, &params.tables[0])?;
        for row in table.rows {
            let read = row.and_then(|Row { number, cells }| match reader.read(&cells) {
                Ok(()) => Ok(number),
                Err(fault) => Err(fault.at(path, number).into()),
            });
            let number = match read {
                Ok(number) => number,
                Err(ImportError::Malformed(fault)) if params.skip_bad_rows && fault.place.row.is_some() => {
                    let kind = format!("{:?}\n{}", fault.place.column, fault.expected);
                    self.bad_rows.add(&kind, || fault.to_string());
                    continue;
                }
                Err(e) => return Err(e),
            };
            for (kinds, (text, kind)) in kinds.iter_mut().zip(&reader.features) {
                let Some(kind) = *kind else { continue };
                kinds.add(kind, text, || Place {
                    path: path.to_owned(),
                    row: Some(number.clone()),
                    column: None,
                });
            }
            self.add(&reader, (index, number.get()))?;
        }
        Ok(())
    }

    fn add(&mut self, row: &RowReader, id: RowId) -> Result<(), ImportError> {
        self.counts.rows += 1;
        let texts: Vec<&str> = row.features.iter().map(|(text, _)| text.as_str()).collect();
        let input = self.inputs.id(&texts.join(SEPARATOR));
        for (choice, timings) in &row.choices {
            let times = || timings.iter().flatten().copied();
            self.counts.not_measured += (timings.len() - times().count()) as u64;
            let Some(least) = times().reduce(f64::min) else { continue };
            let choice = self.choices.id(choice);
            for ms in times() {
                *(if ms.is_finite() { &mut self.counts.measured } else { &mut self.counts.failed }) += 1;
                self.times.push((input, choice, ms));
            }
            self.repetitions.add((input, choice), least, id);
        }
        if self.choices.names.len() > MOST_CHOICES {
            let expected = format!("columns with at most {MOST_CHOICES} different choices");
            return Err(ImportError::parameter("--choice", expected, "more; is one of them a measurement?"));
        }
        Ok(())
    }

    /// Calls `write` with batches of about `bytes` bytes of all rows, with the features in the order of `schema`.
    pub fn batches(
        &self,
        schema: &Schema,
        bytes: usize,
        mut write: impl FnMut(&RowBatch) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let order: Vec<usize> = schema.features().iter().filter_map(|f| self.schema.slot(&f.name)).collect();
        let mut batch = RowBatch::default();
        for rows in self.times.chunk_by(|a, b| a.0 == b.0) {
            let texts: Vec<&str> = self.inputs.names[rows[0].0 as usize].split(SEPARATOR).collect();
            let samples = rows.iter().map(|&(_, choice, ms)| (&*self.choices.names[choice as usize], ms));
            batch.add(order.iter().map(|&slot| texts[slot]), samples);
            if batch.bytes() >= bytes {
                write(&batch)?;
                batch.clear();
            }
        }
        write(&batch)
    }

    /// Returns the report of an import of these rows.
    pub fn report(self, params: &ImportParams) -> ImportReport {
        let mut warnings = Vec::new();
        let bad_rows = self.bad_rows.count();
        if bad_rows > 0 {
            warnings.push(format!("bad rows skipped: {bad_rows}, for example {}", self.bad_rows));
        }
        warnings.extend(self.contradiction(params));
        if params.device.is_none() && params.device_capa.is_none() {
            warnings.push(
                "the log names no device, so a heuristic learned from it holds on every device; \
                 name it with --device LOG, or a GPU's --device-capa and --shared-memory"
                    .to_owned(),
            );
        }
        let names = |kind| self.schema.names(kind).map(str::to_owned).collect();
        let mut choice_names: Vec<String> =
            self.choices.names.iter().map(|name| (**name).to_owned()).collect();
        choice_names.sort_unstable();
        ImportReport {
            log: params.output.clone(),
            inputs: self.inputs.names.len() as u64,
            choices: choice_names.len(),
            choice_names,
            bad_rows,
            numerical: names(FeatureKind::Numerical),
            categorical: names(FeatureKind::Categorical),
            warnings,
            ..self.counts
        }
    }

    fn contradiction(&self, params: &ImportParams) -> Option<String> {
        let (count, first) = self.repetitions.contradictions()?;
        let place = |(table, number): RowId| format!("{}:{number}", params.tables[table].display());
        let others = if self.counts.unused.is_empty() {
            String::new()
        } else {
            format!(" Columns without a role: {}.", listed(&self.counts.unused))
        };
        Some(format!(
            "rows contradict each other (pairs of an input and a choice: {count}). The first: {} ms in {}, {} ms in {}. \
             Is a feature missing from --features?{others}",
            first.least.0,
            place(first.least.1),
            first.greatest.0,
            place(first.greatest.1)
        ))
    }
}

/// Distinct texts, with their numbers in order of first appearance.
#[derive(Default)]
struct Names {
    ids: FxHashMap<Rc<str>, u32>,
    names: Vec<Rc<str>>,
}

impl Names {
    fn id(&mut self, name: &str) -> u32 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        // 2^32 names would not fit into memory.
        let (id, name) = (u32::try_from(self.names.len()).unwrap_or(u32::MAX), Rc::<str>::from(name));
        self.names.push(name.clone());
        self.ids.insert(name, id);
        id
    }
}
