//! One row, split without copying: the digest of its input, its choice and its time.
//!
//! Rows of one input follow each other. Only the first of them is split into all its fields; of the others the
//! features are compared as one piece of text.

use std::hash::Hasher;
use std::ops::Range;

use crate::feature::FeatureKind;
use crate::log::csv;
use crate::log::error::shown;
use crate::log::rows::{RowError, number};

/// The digest of an input's features as text: 128 bits, so that two inputs among 10^9 share one with a chance below
/// 1e-20.
pub(super) type Digest = u128;

/// A row of a log whose columns are features, choice, feedback.
pub(super) struct Row<'t> {
    pub(super) input: Digest,
    /// The bytes of the features and the choice in the log, with the comma behind them.
    pub(super) front: &'t [u8],
    /// The bytes of the choice in the log.
    pub(super) choice: &'t [u8],
    /// Milliseconds; infinite if the choice failed.
    pub(super) feedback: f64,
}

/// Splits the rows of one log.
pub(super) struct RowSplitter {
    /// By column of the features.
    features: Vec<FeatureKind>,
    /// The features of the row before, with the comma behind them; empty before the first row.
    prefix: Vec<u8>,
    input: Digest,
    fields: Vec<Range<usize>>,
}

impl RowSplitter {
    pub(super) fn new(features: Vec<FeatureKind>) -> Self {
        Self { features, prefix: Vec::new(), input: 0, fields: Vec::new() }
    }

    pub(super) fn split<'t>(&mut self, text: &'t [u8]) -> Result<Row<'t>, RowError> {
        if self.prefix.is_empty() || !text.starts_with(&self.prefix) {
            self.begin_input(text)?;
        }
        let begin = self.prefix.len();
        let rest = &text[begin..];
        let bad = |at: usize, found: &[u8], expected: &str| bad(text, begin + at, found, expected);
        csv::split(rest, &mut self.fields).map_err(|at| bad(at, &rest[at..], "a closed quote"))?;
        let [choice, feedback] = &self.fields[..] else {
            return Err(fields(self.features.len() + 2, self.features.len() + self.fields.len()));
        };
        let (choice_text, feedback_text) = (&rest[choice.clone()], &rest[feedback.clone()]);
        if choice_text.is_empty() || choice_text == b"\"\"" || std::str::from_utf8(choice_text).is_err() {
            return Err(bad(choice.start, choice_text, "a choice's name"));
        }
        let ms = std::str::from_utf8(feedback_text).ok().and_then(number).filter(|ms| *ms > 0.0);
        let expected = "a time in milliseconds above 0, or inf";
        let feedback = ms.ok_or_else(|| bad(feedback.start, feedback_text, expected))?;
        let front = &text[..begin + choice.end + 1];
        Ok(Row { input: self.input, front, choice: choice_text, feedback })
    }

    /// Checks the features of the first row of an input.
    fn begin_input(&mut self, text: &[u8]) -> Result<(), RowError> {
        // A bad row must not leave the prefix of a good one with another digest.
        self.prefix.clear();
        csv::split(text, &mut self.fields).map_err(|at| bad(text, at, &text[at..], "a closed quote"))?;
        let features = self.features.len();
        if self.fields.len() != features + 2 {
            return Err(fields(features + 2, self.fields.len()));
        }
        for (kind, range) in self.features.iter().zip(&self.fields) {
            let field = &text[range.clone()];
            let value =
                std::str::from_utf8(field).map_err(|_| bad(text, range.start, field, "text in UTF-8"))?;
            if *kind == FeatureKind::Numerical && number(&csv::unquote(value)).is_none_or(f64::is_nan) {
                return Err(bad(text, range.start, field, "a number"));
            }
        }
        let end = self.fields[features - 1].end;
        self.input = digest(&text[..end]);
        self.prefix.extend_from_slice(&text[..=end]);
        Ok(())
    }
}

fn bad(text: &[u8], at: usize, found: &[u8], expected: &str) -> RowError {
    RowError { column: csv::column(text, at), expected: expected.to_owned(), found: shown(found, "nothing") }
}

fn fields(expected: usize, found: usize) -> RowError {
    RowError { column: 0, expected: format!("{expected} fields"), found: found.to_string() }
}

/// Hashes the features' text. The standard library's hasher is enough: each half has another key, and no digest leaves the
/// process.
fn digest(text: &[u8]) -> Digest {
    let half = |key: u8| {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write_u8(key);
        hasher.write(text);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}
