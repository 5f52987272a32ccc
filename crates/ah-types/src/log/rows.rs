//! The rows of one file: each becomes an input, a choice and a feedback.
//!
//! The bytes of a row's input and of its choice usually occurred before. Such rows are not split into fields; all
//! others are split by the crate `csv`.

use std::io::{Cursor, SeekFrom};

use ah_model::{ChoiceId, Fault, Feature, FeatureKind, Value};

use super::data::Sample;
use super::lines::shown;
use super::merger::Merger;
use crate::number::number;

const HINT: &str = "fix the row, or skip such rows (ah-train --skip-bad-rows)";

/// The contents of a column.
pub(super) enum Column {
    /// By slot of the schema.
    Feature(usize),
    Choice,
    Feedback,
}

/// Reads the rows of one file into a [`Merger`].
pub(super) struct RowReader {
    columns: Vec<Column>,
    /// Whether a row is prefix, choice, feedback, and the prefix is the text of its input.
    prefixed: bool,
    /// The values of the device's features, which follow those of the columns.
    device: Vec<Value>,
    /// The inputs of this file by the bytes of their prefixes.
    inputs: rustc_hash::FxHashMap<Box<[u8]>, u32>,
    /// Splits a row into fields; made once, because making one takes longer than splitting.
    csv: csv::Reader<Cursor<Vec<u8>>>,
    record: csv::StringRecord,
}

impl RowReader {
    pub(super) fn new(columns: Vec<Column>, device: Vec<Value>) -> Self {
        let prefixed = matches!(columns[..], [_, .., Column::Choice, Column::Feedback]);
        Self {
            columns,
            prefixed,
            device,
            inputs: Default::default(),
            csv: csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(Cursor::default()),
            record: csv::StringRecord::new(),
        }
    }

    /// Reads a row; a bad one adds nothing.
    pub(super) fn row(&mut self, line: &[u8], merger: &mut Merger) -> Result<(), Fault> {
        let sample = self.known(line, merger).map_or_else(|| self.in_full(line, merger), Ok)?;
        merger.log.samples.push(sample);
        Ok(())
    }

    /// Reads a row whose input and choice occurred before, without quotes, with a time in our own format.
    fn known(&self, line: &[u8], merger: &Merger) -> Option<Sample> {
        let (prefix, rest) = line.split_at(self.prefix_of(line)?);
        let input = *self.inputs.get(prefix)?;
        let comma = memchr::memchr(b',', rest)?;
        let choice = merger.choices.get_index_of(&rest[..comma])? as u32;
        let text = &rest[comma + 1..];
        let feedback: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        // Another infinite number is too large for an f64.
        let is_time = feedback > 0.0 && (feedback.is_finite() || text == b"inf");
        is_time.then_some(Sample { input, choice: ChoiceId(choice), feedback })
    }

    /// The length of the prefix of a row without quotes: the features, with the comma behind them.
    fn prefix_of(&self, line: &[u8]) -> Option<usize> {
        if !self.prefixed || memchr::memchr(b'"', line).is_some() {
            return None;
        }
        let second = memchr::memrchr(b',', line)?;
        Some(memchr::memrchr(b',', &line[..second])? + 1)
    }

    fn in_full(&mut self, line: &[u8], merger: &mut Merger) -> Result<Sample, Fault> {
        let bad = |expected: &str, found: String| Fault::new(expected, found, HINT);
        std::str::from_utf8(line).map_err(|e| bad("text in UTF-8", shown(&line[e.valid_up_to()..])))?;
        let row = self.csv.get_mut().get_mut();
        row.clear();
        row.extend_from_slice(line);
        let begun = self.csv.seek_raw(SeekFrom::Start(0), csv::Position::new());
        let read = begun.and_then(|()| self.csv.read_record(&mut self.record));
        read.map_err(|e| bad("a row of CSV", e.to_string()))?;
        if self.record.len() != self.columns.len() {
            return Err(bad(&format!("{} fields", self.columns.len()), self.record.len().to_string()));
        }
        let mut values = vec![Value::Number(f64::NAN); merger.log.schema.len() - self.device.len()];
        let mut choice = "";
        let mut feedback = 0.0;
        for (column, field) in self.columns.iter().zip(&self.record) {
            let bad = |expected: &str, name: &str| bad(expected, shown(field.as_bytes())).in_column(name);
            match *column {
                Column::Feature(slot) => {
                    let Feature { name, kind, .. } = &merger.log.schema.features()[slot];
                    values[slot] = match kind {
                        FeatureKind::Categorical => merger.category(field),
                        FeatureKind::Numerical => {
                            Value::Number(feature(field).map_err(|expected| bad(expected, name))?)
                        }
                    };
                }
                Column::Choice if field.is_empty() => return Err(bad("a choice's name", "choice")),
                Column::Choice => choice = field,
                Column::Feedback => {
                    let time = number(field).filter(|ms| *ms > 0.0);
                    let expected = "a time in milliseconds above 0, or inf";
                    feedback = time.ok_or_else(|| bad(expected, "feedback"))?;
                }
            }
        }
        // Only now, so that a bad row adds neither an input nor a choice.
        values.extend(self.device.iter().cloned());
        let input = merger.input(values);
        if let Some(prefix) = self.prefix_of(line) {
            self.inputs.insert(line[..prefix].into(), input);
        }
        Ok(Sample { input, choice: ChoiceId(merger.choice(choice)), feedback })
    }
}

/// Reads the value of a numerical feature; an empty field is missing, which NaN is too.
fn feature(field: &str) -> Result<f64, &'static str> {
    match number(field) {
        Some(x) if !x.is_infinite() => Ok(x),
        Some(_) => Err("a finite number"),
        None if field.trim().is_empty() => Ok(f64::NAN),
        None if field.trim().parse::<f64>().is_ok() => {
            Err("a number that 64-bit floating point holds exactly")
        }
        None => Err("a number"),
    }
}
