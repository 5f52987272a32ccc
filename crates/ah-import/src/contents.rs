//! The rows of all tables in memory: each input and each choice once, and 24 bytes a time.

use ah_types::log::RowBatch;
use ah_types::shown::listed;
use ah_types::{FeatureKind, Place, Schema, Tally};
use indexmap::IndexSet;
use rustc_hash::FxHashMap;

use crate::cell::Cell;
use crate::error::ImportError;
use crate::kinds::Kinds;
use crate::params::ImportParams;
use crate::report::ImportReport;
use crate::roles::Roles;
use crate::row::RowReader;
use crate::table::{self, Row};

/// More choices than this are a column of measurements by mistake, and would fill the memory.
const MOST_CHOICES: usize = 1_000_000;

/// Between the texts of an input's features, none of which contains it.
const SEPARATOR: &str = "\n";

/// Times of one choice on one input that differ by more than this factor are not repetitions: they more likely belong to
/// different inputs, and a feature that distinguishes these was not given.
const APART: f64 = 2.0;

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
    /// By row, the index of its table and its number there.
    rows: Vec<(usize, u64)>,
    bad_rows: Tally,
    /// The names of the features, in the order of each input's text.
    features: Vec<String>,
    /// Whether nobody named the unit of the times.
    is_unit_assumed: bool,
    /// The counts of rows and times so far.
    counts: ImportReport,
}

/// One time, by the positions of its input, its choice and its row.
#[derive(Clone, Copy)]
struct Time {
    input: u32,
    choice: u32,
    row: u32,
    ms: f64,
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
        if contents.rows.is_empty() {
            return too_little("the table has no rows to import", "measure some inputs first");
        }
        let features = kinds.into_iter().map(Kinds::feature).collect::<Result<Vec<_>, _>>()?;
        contents.schema = Schema::new(features)
            .map_err(|e| ImportError::parameter("--features", "each column once", e.to_string()))?;
        if contents.is_unit_assumed && contents.are_mostly_short() {
            let found = "none, and times that are mostly below 5 ns if they are in milliseconds";
            return Err(ImportError::parameter("--unit", "the unit of the times (ns, us, ms or s)", found));
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
        path: &std::path::Path,
        kinds: &mut Vec<Kinds>,
    ) -> Result<(), ImportError> {
        let table = table::open(path, params)?;
        let constants = params.constants()?.into_iter().map(|(_, value)| Cell::from(value));
        let constants: Vec<Cell> = constants.collect();
        let mut reader = RowReader::new(Roles::find(path, &table, params)?);
        if kinds.is_empty() {
            self.is_unit_assumed = reader.roles.rules.is_assumed;
            kinds.extend(reader.roles.features.iter().map(Kinds::new));
            self.counts.unused.clone_from(&reader.roles.unused);
            let rules = &reader.roles.rules;
            self.counts.unit =
                if rules.higher_is_better { "rates".to_owned() } else { rules.unit.to_string() };
            self.features = reader.roles.features.iter().map(|column| column.name.clone()).collect();
        }
        reader.roles.same_features(path, &self.features, &params.tables[0])?;
        for row in table.rows {
            let read = row.and_then(|Row { number, mut cells }| {
                cells.extend_from_slice(&constants);
                match reader.read(&cells) {
                    Ok(()) => Ok(number),
                    Err(fault) => Err(fault.at(path, number).into()),
                }
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
            self.rows.push((index, number.get()));
            self.add(&reader)?;
        }
        Ok(())
    }

    /// Adds the times of the row that was read last.
    fn add(&mut self, read: &RowReader) -> Result<(), ImportError> {
        let texts: Vec<&str> = read.features.iter().map(|(text, _)| text.as_str()).collect();
        // 2^32 names would not fit into memory.
        let input = self.inputs.insert_full(texts.join(SEPARATOR)).0 as u32;
        let row = self.rows.len() as u32 - 1;
        for (name, timings) in &read.choices {
            let times = || timings.iter().flatten().copied();
            self.counts.not_measured += (timings.len() - times().count()) as u64;
            if times().next().is_none() {
                continue;
            }
            let known = self.choices.get_index_of(name);
            let choice = known.unwrap_or_else(|| self.choices.insert_full(name.clone()).0) as u32;
            for ms in times() {
                *(if ms.is_finite() { &mut self.counts.measured } else { &mut self.counts.failed }) += 1;
                self.times.push(Time { input, choice, row, ms });
            }
        }
        if self.choices.len() > MOST_CHOICES {
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
        for times in self.times.chunk_by(|a, b| a.input == b.input) {
            let texts: Vec<&str> = self.inputs[times[0].input as usize].split(SEPARATOR).collect();
            let samples = times.iter().map(|time| (&*self.choices[time.choice as usize], time.ms));
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
        let mut choice_names: Vec<String> = self.choices.into_iter().collect();
        choice_names.sort_unstable();
        ImportReport {
            log: params.output.clone(),
            rows: self.rows.len() as u64,
            inputs: self.inputs.len() as u64,
            choices: choice_names.len(),
            choice_names,
            bad_rows,
            numerical: names(FeatureKind::Numerical),
            categorical: names(FeatureKind::Categorical),
            warnings,
            ..self.counts
        }
    }

    /// Returns whether most times are so short that they are probably in another unit.
    fn are_mostly_short(&self) -> bool {
        let finite = || self.times.iter().filter(|time| time.ms.is_finite());
        2 * finite().filter(|time| time.ms < SHORT_MS).count() > finite().count()
    }

    /// Returns a sentence about rows that give one choice on one input very different times.
    fn contradiction(&self, params: &ImportParams) -> Option<String> {
        // The least and the greatest time of each pair; of the repetitions in a row, the least counts.
        let mut pairs: FxHashMap<(u32, u32), [Time; 2]> = FxHashMap::default();
        let of_row = |a: &Time, b: &Time| (a.row, a.choice) == (b.row, b.choice);
        for times in self.times.chunk_by(of_row) {
            let least = times.iter().copied().reduce(|a, b| if b.ms < a.ms { b } else { a })?;
            let [low, high] = pairs.entry((least.input, least.choice)).or_insert([least; 2]);
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
            let (table, number) = self.rows[time.row as usize];
            format!("{} ms in {}:{number}", time.ms, params.tables[table].display())
        };
        let others = match self.counts.unused.is_empty() {
            true => String::new(),
            false => format!(" Columns without a role: {}.", listed(&self.counts.unused)),
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
