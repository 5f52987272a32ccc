//! The second reading: writes the log.

use std::path::{Path, PathBuf};

use ah_types::log::{LogWriter, Metadata, RowBatch};
use ah_types::shown::listed;
use ah_types::{FeatureKind, Schema};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::Hasher;

use super::device;
use super::error::{ImportError, io_error};
use super::params::ImportParams;
use super::reading::{SkippedRows, each_row};
use super::repetitions::{Repetitions, RowId};
use super::report::{ImportReport, MOST_INPUTS};
use super::row::RowReader;
use super::times::Timing;

/// The log's rows are written in blocks of about this many bytes.
const BLOCK: usize = 4 << 20;

/// More choices than this are a column of measurements by mistake, and would fill the memory.
const MOST_CHOICES: usize = 1_000_000;

/// Writes the log of all tables, with these features.
///
/// # Errors
/// [`ImportError`]. A new log then does not exist; an existing one may have a part of the new rows.
pub fn log(params: &ImportParams, schema: &Schema) -> Result<ImportReport, ImportError> {
    let metadata = metadata(params, schema)?;
    // A new log is renamed into place when it is complete.
    let append = params.output.exists();
    let path = if append { params.output.clone() } else { beside(&params.output) };
    if !append && path.exists() {
        std::fs::remove_file(&path).map_err(io_error(&path, "replace"))?;
    }
    let (writer, _) = LogWriter::open(&path, &metadata, schema)?;
    let report = Import::new(writer, schema).run(params);
    if append {
        return report;
    }
    if report.is_err() {
        // Best effort: the error to report is the import's.
        let _ = std::fs::remove_file(&path);
        return report;
    }
    std::fs::rename(&path, &params.output).map_err(io_error(&params.output, "write"))?;
    report
}

fn metadata(params: &ImportParams, schema: &Schema) -> Result<Metadata, ImportError> {
    let device::DeviceKeys { device_capa, shared_memory, collection } = device::keys(params)?;
    let names = |kind| schema.names(kind).map(str::to_owned).collect();
    Ok(Metadata {
        name: params.name.clone(),
        shared_memory,
        device_capa,
        numerical_features: names(FeatureKind::Numerical),
        categorical_features: names(FeatureKind::Categorical),
        // Other tables may add choices to the log.
        choices: None,
        collection,
    })
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

/// An import in progress.
struct Import {
    writer: LogWriter,
    /// For each column of the log, the feature's position in the tables' roles.
    order: Vec<usize>,
    batch: RowBatch,
    inputs: FxHashSet<u64>,
    choices: FxHashSet<String>,
    repetitions: Repetitions,
    unused: Vec<String>,
    report: ImportReport,
}

impl Import {
    fn new(writer: LogWriter, schema: &Schema) -> Self {
        let names = |kind| schema.names(kind).map(str::to_owned).collect();
        let report = ImportReport {
            numerical: names(FeatureKind::Numerical),
            categorical: names(FeatureKind::Categorical),
            ..ImportReport::default()
        };
        // The log has the same features; an existing log may have them in another order.
        let order = writer.schema().features().iter().filter_map(|f| schema.slot(&f.name)).collect();
        Self {
            writer,
            order,
            batch: RowBatch::default(),
            inputs: FxHashSet::default(),
            choices: FxHashSet::default(),
            repetitions: Repetitions::default(),
            unused: Vec::new(),
            report,
        }
    }

    fn run(mut self, params: &ImportParams) -> Result<ImportReport, ImportError> {
        let skipped = each_row(params, &mut |reader, table, place| {
            let number = place().number;
            self.row(reader, (u32::try_from(table).unwrap_or(u32::MAX), number))
        })?;
        self.flush()?;
        self.finish(params, &skipped)
    }

    fn row(&mut self, reader: &RowReader, id: RowId) -> Result<(), ImportError> {
        if self.report.rows == 0 {
            self.unused.clone_from(&reader.roles().unused);
        }
        self.report.rows += 1;
        let texts = || self.order.iter().map(|&slot| reader.features[slot].text.as_str());
        let input = texts().collect::<Vec<_>>().join(",");
        if self.inputs.len() < MOST_INPUTS {
            let mut hasher = FxHasher::default();
            hasher.write(input.as_bytes());
            self.inputs.insert(hasher.finish());
        }
        for choice in &reader.choices {
            let mut least = f64::NAN;
            for timing in &choice.timings {
                let ms = match *timing {
                    Timing::Measured(ms) => {
                        self.report.measured += 1;
                        ms
                    }
                    Timing::Failed => {
                        self.report.failed += 1;
                        f64::INFINITY
                    }
                    Timing::NotMeasured => {
                        self.report.not_measured += 1;
                        continue;
                    }
                };
                least = least.min(ms);
                self.batch.add(texts(), [(choice.choice.as_str(), ms)]);
            }
            if least.is_nan() {
                continue;
            }
            self.repetitions.add(&input, &choice.choice, least, id);
            if !self.choices.contains(&choice.choice) {
                self.choices.insert(choice.choice.clone());
                too_many(self.choices.len())?;
            }
        }
        if self.batch.bytes() >= BLOCK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        self.writer.append_rows(&self.batch)?;
        self.batch.clear();
        Ok(())
    }

    fn finish(mut self, params: &ImportParams, skipped: &SkippedRows) -> Result<ImportReport, ImportError> {
        if self.choices.is_empty() {
            return Err(ImportError::TooLittle {
                what: format!(
                    "{}: no row holds a time (rows: {})",
                    params.tables[0].display(),
                    self.report.rows
                ),
                hint: "name the column of the times with --time",
            });
        }
        let mut warnings = Vec::new();
        if skipped.count > 0 {
            warnings.push(format!(
                "bad rows skipped: {}, for example {}",
                skipped.count,
                skipped.examples.join("; ")
            ));
        }
        warnings.extend(self.contradiction(params));
        if params.device.is_none() && params.device_capa.is_none() {
            warnings.push(
                "the log names no device, so a heuristic learned from it holds on every device; \
                 name it with --device LOG, or a GPU's --device-capa and --shared-memory"
                    .to_owned(),
            );
        }
        self.report.log.clone_from(&params.output);
        self.report.inputs = self.inputs.len() as u64;
        self.report.choices = self.choices.len();
        self.report.choice_names = self.choices.into_iter().collect();
        self.report.choice_names.sort_unstable();
        self.report.bad_rows = skipped.count;
        self.report.warnings = warnings;
        Ok(self.report)
    }

    fn contradiction(&self, params: &ImportParams) -> Option<String> {
        let (count, first) = self.repetitions.contradictions()?;
        let place = |(table, number): RowId| format!("{}:{number}", params.tables[table as usize].display());
        let others = if self.unused.is_empty() {
            String::new()
        } else {
            format!(" Columns without a role: {}.", listed(&self.unused))
        };
        Some(format!(
            "rows contradict each other (pairs of an input and a choice: {count}). The first: {} ms in {}, {} ms in {}. \
             Is a feature missing from --features?{others}",
            first.least,
            place(first.least_row),
            first.greatest,
            place(first.greatest_row)
        ))
    }
}

fn too_many(choices: usize) -> Result<(), ImportError> {
    if choices <= MOST_CHOICES {
        return Ok(());
    }
    let expected = format!("columns with at most {MOST_CHOICES} different choices");
    Err(ImportError::parameter("--choice", expected, "more; is one of them a measurement?"))
}
