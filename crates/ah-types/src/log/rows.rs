//! The rows of one file: each becomes an input, a choice and a feedback.
//!
//! The text of a row's input and of its choice usually occurred before, byte for byte. Such rows are not
//! split into fields. Everything else is read in full, and only the full path reports errors.

use std::borrow::Cow;
use std::ops::Range;

use super::csv;
use super::data::{Input, Sample};
use super::error::shown;
use super::merger::Merger;
use crate::choice::ChoiceId;
use crate::context::Value;
use crate::feature::FeatureKind;

/// The contents of a column.
pub(super) enum Column {
    Feature { slot: usize, kind: FeatureKind },
    Choice,
    Feedback,
}

/// The reason why a row cannot be read.
pub(super) struct RowError {
    /// The column in characters from 1; 0 for the whole row.
    pub(super) column: usize,
    pub(super) expected: String,
    pub(super) found: String,
}

pub(super) struct RowReader {
    columns: Vec<Column>,
    /// Whether choice and feedback are the last columns, in this order: a row is then prefix, choice,
    /// feedback.
    prefixed: bool,
    /// Whether the features are in the first file's order.
    ordered: bool,
    /// The previous row's prefix with its comma, and its input; empty before the first row.
    prefix: Vec<u8>,
    input: u32,
    fields: Vec<Range<usize>>,
}

impl RowReader {
    pub(super) fn new(columns: Vec<Column>) -> Self {
        let slots = columns.iter().filter_map(|c| match c {
            Column::Feature { slot, .. } => Some(*slot),
            _ => None,
        });
        let ordered = slots.is_sorted();
        let prefixed = matches!(columns[..], [_, .., Column::Choice, Column::Feedback]);
        Self { columns, prefixed, ordered, prefix: Vec::new(), input: 0, fields: Vec::new() }
    }

    pub(super) fn row(&mut self, text: &[u8], merger: &mut Merger) -> Result<(), RowError> {
        let sample = match self.known(text, merger) {
            Some(sample) => sample,
            None => self.in_full(text, merger)?,
        };
        merger.samples.push(sample);
        Ok(())
    }

    /// Reads a row whose input and choice occurred before, without quotes, with a time in our own format.
    fn known(&mut self, text: &[u8], merger: &Merger) -> Option<Sample> {
        let rest = match text.strip_prefix(self.prefix.as_slice()) {
            Some(rest) if !self.prefix.is_empty() => rest,
            _ => self.known_input(text, merger)?,
        };
        let comma = memchr::memchr(b',', rest)?;
        let (choice, feedback) = (&rest[..comma], &rest[comma + 1..]);
        if choice.first() == Some(&b'"') {
            return None;
        }
        let feedback = std::str::from_utf8(feedback).ok()?.parse().ok().filter(|ms| *ms > 0.0)?;
        Some(Sample { input: self.input, choice: ChoiceId(*merger.choice_ids.get(choice)?), feedback })
    }

    /// Makes the input in `text` the previous row's input, if it is known. Returns the text after its
    /// comma.
    fn known_input<'t>(&mut self, text: &'t [u8], merger: &Merger) -> Option<&'t [u8]> {
        if !(self.prefixed && self.ordered) || memchr::memchr(b'"', text).is_some() {
            return None;
        }
        let second = memchr::memrchr(b',', text)?;
        let first = memchr::memrchr(b',', &text[..second])?;
        self.input = *merger.input_ids.get(std::str::from_utf8(&text[..first]).ok()?)?;
        self.prefix.clear();
        self.prefix.extend_from_slice(&text[..=first]);
        Some(&text[first + 1..])
    }

    fn in_full(&mut self, bytes: &[u8], merger: &mut Merger) -> Result<Sample, RowError> {
        let fault = |at: usize, found: &[u8], expected: &str| RowError {
            column: csv::column(bytes, at),
            expected: expected.to_owned(),
            found: shown(found, "nothing"),
        };
        let text = std::str::from_utf8(bytes)
            .map_err(|e| fault(e.valid_up_to(), &bytes[e.valid_up_to()..], "text in UTF-8"))?;
        csv::split(bytes, &mut self.fields).map_err(|at| fault(at, &bytes[at..], "a closed quote"))?;
        if self.fields.len() != self.columns.len() {
            return Err(RowError {
                column: 0,
                expected: format!("{} fields", self.columns.len()),
                found: self.fields.len().to_string(),
            });
        }
        let mut values = vec![Value::Number(f64::NAN); merger.schema.len()];
        let (mut choice, mut choice_at, mut feedback) = (Cow::Borrowed(""), 0, 0.0);
        for (column, range) in self.columns.iter().zip(&self.fields) {
            let field = csv::unquote(&text[range.clone()]);
            let fault = |expected: &str| fault(range.start, field.as_bytes(), expected);
            match *column {
                Column::Feature { slot, kind } => {
                    values[slot] = match kind {
                        FeatureKind::Categorical => merger.category(&field),
                        FeatureKind::Numerical => {
                            let name =
                                || fault(&expected_number(&field, &merger.schema.features()[slot].name));
                            Value::Number(feature(&field).filter(|x| !x.is_infinite()).ok_or_else(name)?)
                        }
                    };
                }
                Column::Choice if field.is_empty() => return Err(fault("a choice's name")),
                Column::Choice => (choice, choice_at) = (field, range.start),
                Column::Feedback => {
                    let expected = "a time in milliseconds above 0, or inf";
                    feedback = number(&field).filter(|ms| *ms > 0.0).ok_or_else(|| fault(expected))?;
                }
            }
        }
        // Only now, so that a bad row adds neither an input nor a choice.
        let input = input_id(self.input_text(text, merger.schema.len()), values, merger);
        if self.prefixed {
            self.prefix.clear();
            self.prefix.extend_from_slice(&bytes[..choice_at]);
            self.input = input;
        }
        Ok(Sample { input, choice: ChoiceId(choice_id(&choice, merger)), feedback })
    }

    /// Returns the features of a split row in the order of the first file's header, so that files with
    /// other orders agree.
    fn input_text<'t>(&self, text: &'t str, features: usize) -> Cow<'t, str> {
        if self.prefixed && self.ordered {
            return Cow::Borrowed(&text[..self.fields[features - 1].end]);
        }
        let mut raw = vec![""; features];
        for (column, range) in self.columns.iter().zip(&self.fields) {
            if let Column::Feature { slot, .. } = *column {
                raw[slot] = &text[range.clone()];
            }
        }
        Cow::Owned(raw.join(","))
    }
}

/// Reads the value of a numerical feature; an empty field is missing, which NaN is too.
fn feature(field: &str) -> Option<f64> {
    if field.trim().is_empty() { Some(f64::NAN) } else { number(field) }
}

/// Returns what a field of a numerical feature should be.
fn expected_number(field: &str, feature: &str) -> String {
    match number(field) {
        Some(_) => format!("a finite number for {feature}"),
        None => format!("a number for {feature}"),
    }
}

/// Reads a number of a log; most features are small whole numbers.
pub(super) fn number(text: &str) -> Option<f64> {
    text.parse::<u32>().map(f64::from).or_else(|_| text.trim().parse()).ok()
}

fn input_id(text: Cow<'_, str>, values: Vec<Value>, merger: &mut Merger) -> u32 {
    if let Some(id) = merger.input_ids.get(&*text) {
        return *id;
    }
    let id = count(merger.inputs.len());
    let text = text.into_owned().into_boxed_str();
    merger.input_ids.insert(text.clone(), id);
    let part = merger.metadata.collection.as_ref().and_then(|c| c.random_part);
    let random = part.is_none_or(|part| part.contains(&text));
    merger.inputs.push(Input { values: values.into(), text, random });
    id
}

fn choice_id(name: &str, merger: &mut Merger) -> u32 {
    if let Some(id) = merger.choice_ids.get(name.as_bytes()) {
        return *id;
    }
    let id = count(merger.choices.len());
    merger.choice_ids.insert(name.as_bytes().into(), id);
    merger.choices.push(name.to_owned());
    id
}

/// Ids are u32: a log of 2^32 inputs would not fit into memory.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
