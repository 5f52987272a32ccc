//! One file: its metadata, its header, and the way through its lines.

use std::path::Path;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::intern::Interned;
use super::merger::Merger;
use super::metadata::{Metadata, differences};
use super::reader::{Dirt, ReadOptions, Source};
use super::rows::{self, Lines};
use super::samples::Rows;
use super::{CHOICE_COLUMN, FEEDBACK_COLUMN, LogError, Place};
use crate::feature::{FeatureKind, Schema};

/// What a column holds.
pub(super) enum Column {
    Feature { slot: usize, kind: FeatureKind },
    Choice,
    Feedback,
}

pub(super) struct File<'a> {
    pub(super) path: &'a Path,
    pub(super) bytes: &'a [u8],
}

impl<'a> File<'a> {
    pub(super) fn malformed(
        &self,
        line: u64,
        column: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
        hint: impl Into<String>,
    ) -> LogError {
        LogError::Malformed {
            place: Place { path: self.path.to_owned(), line, column: column as u64 },
            expected: expected.into(),
            found: found.into(),
            hint: hint.into(),
        }
    }

    pub(super) fn read_into(
        &self,
        merged: &mut Option<Merger>,
        options: ReadOptions,
    ) -> Result<(), LogError> {
        let mut lines = Lines { bytes: self.bytes, line: 0 };
        let metadata = self.metadata(lines.next().unwrap_or_default().1)?;
        let header = match lines.next() {
            Some((_, text)) if !text.is_empty() => text,
            _ => {
                return Err(self.malformed(
                    2,
                    0,
                    "a CSV header",
                    "nothing",
                    "is this a log of AutoHeuristic?",
                ));
            }
        };
        let (names, columns_by_name) = self.header(header, &metadata)?;
        let merger = match merged {
            Some(merger) => {
                self.agree(merger, &metadata)?;
                merger
            }
            None => {
                let features = names.iter().map(|name| {
                    let kind = metadata.kind_of(name).unwrap_or(FeatureKind::Numerical);
                    crate::feature::Feature { kind, ..crate::feature::Feature::numerical(name) }
                });
                let schema = Schema::new(features).map_err(|e| {
                    self.malformed(2, 0, "distinct columns", format!("{:?} twice", e.0), "mend the header")
                })?;
                merged.insert(Merger {
                    metadata,
                    schema,
                    choices: Vec::new(),
                    choice_ids: FxHashMap::default(),
                    inputs: Vec::new(),
                    input_ids: FxHashMap::default(),
                    samples: Vec::with_capacity(self.bytes.len() / 100),
                    sources: Vec::new(),
                    dirt: Dirt::default(),
                    hasher: FxBuildHasher,
                })
            }
        };
        let columns: Vec<Column> = columns_by_name
            .into_iter()
            .map(|name| match name.as_str() {
                CHOICE_COLUMN => Column::Choice,
                FEEDBACK_COLUMN => Column::Feedback,
                _ => {
                    let slot = merger.schema.slot(&name).unwrap_or_default();
                    Column::Feature { slot, kind: merger.schema.features()[slot].kind }
                }
            })
            .collect();
        let inputs_before = merger.inputs.len();
        let rows = self.rows(&columns, lines, merger, options)?;
        if !self.bytes.ends_with(b"\n") {
            merger.dirt.unterminated.push(self.path.to_owned());
        }
        let hash = super::reader::hash(self.bytes);
        let new_inputs = (merger.inputs.len() - inputs_before) as u64;
        merger.sources.push(Source { path: self.path.to_owned(), hash, rows, new_inputs });
        Ok(())
    }

    pub(super) fn metadata(&self, line: &[u8]) -> Result<Metadata, LogError> {
        const HINT: &str = "is this a log of AutoHeuristic?";
        if self.bytes.is_empty() {
            return Err(self.malformed(1, 1, "a line of JSON metadata", "an empty file", HINT));
        }
        serde_json::from_slice(line).map_err(|e| {
            self.malformed(
                1,
                e.column(),
                "a JSON object with name, device_capa, numerical_features and categorical_features",
                shown(line, &e.to_string()),
                HINT,
            )
        })
    }

    /// The features' names in order, and all columns' names in order.
    pub(super) fn header(
        &self,
        line: &[u8],
        metadata: &Metadata,
    ) -> Result<(Vec<String>, Vec<String>), LogError> {
        let mut ranges = Vec::new();
        rows::split(line, &mut ranges)
            .map_err(|at| self.malformed(2, at + 1, "a CSV header", "an unclosed quote", "close it"))?;
        let mut columns: Vec<String> = Vec::with_capacity(ranges.len());
        for range in ranges {
            let name = String::from_utf8_lossy(&rows::unquote(&line[range.clone()])).into_owned();
            let known = name == CHOICE_COLUMN || name == FEEDBACK_COLUMN || metadata.kind_of(&name).is_some();
            if !known {
                let features: Vec<&str> = metadata
                    .numerical_features
                    .iter()
                    .chain(&metadata.categorical_features)
                    .map(String::as_str)
                    .collect();
                return Err(self.malformed(
                    2,
                    range.start + 1,
                    format!(
                        "a feature of the metadata ({}), {CHOICE_COLUMN} or {FEEDBACK_COLUMN}",
                        features.join(", ")
                    ),
                    format!("the column {name:?}"),
                    "list it under numerical_features or categorical_features in line 1",
                ));
            }
            if columns.contains(&name) {
                return Err(self.malformed(
                    2,
                    range.start + 1,
                    "distinct columns",
                    format!("{name:?} twice"),
                    "remove one",
                ));
            }
            columns.push(name);
        }
        let wanted = metadata.numerical_features.iter().chain(&metadata.categorical_features);
        for name in wanted.map(String::as_str).chain([CHOICE_COLUMN, FEEDBACK_COLUMN]) {
            if !columns.iter().any(|c| c == name) {
                return Err(self.malformed(
                    2,
                    0,
                    format!("a column {name:?}"),
                    format!("the columns {}", columns.join(", ")),
                    "add it, or mend the metadata in line 1",
                ));
            }
        }
        let names =
            columns.iter().filter(|c| *c != CHOICE_COLUMN && *c != FEEDBACK_COLUMN).cloned().collect();
        Ok((names, columns))
    }

    pub(super) fn agree(&self, merger: &Merger, metadata: &Metadata) -> Result<(), LogError> {
        let mut found = differences(&merger.metadata, metadata);
        // Parts of one seeded sequence, or several seeds, may be merged.
        found.retain(|d| d.key != "autoheuristic_rs.seed" && d.key != "choices");
        if found.is_empty() {
            return Ok(());
        }
        Err(LogError::Metadata {
            path: self.path.to_owned(),
            other: merger.sources.first().map_or_else(String::new, |s| s.path.display().to_string()),
            differences: found,
            hint: "logs of different devices or features cannot be merged; learn from each alone",
        })
    }

    pub(super) fn rows(
        &self,
        columns: &[Column],
        lines: Lines<'a>,
        merger: &mut Merger,
        options: ReadOptions,
    ) -> Result<u64, LogError> {
        let mut state = Rows {
            file: self,
            columns,
            // Where choice and feedback come last, in this order, a row is prefix, choice, feedback.
            prefix: matches!(columns, [.., Column::Choice, Column::Feedback]),
            inputs: Interned::new(),
            choices: Interned::new(),
            fields: Vec::new(),
        };
        let mut rows = 0;
        for (line, text) in lines {
            if text.iter().all(u8::is_ascii_whitespace) {
                merger.dirt.blank_lines += 1;
                continue;
            }
            if options.max_rows.is_some_and(|max| rows >= max) {
                break;
            }
            match state.row(line, text, merger) {
                Ok(()) => rows += 1,
                Err(error) if options.skip_bad_rows => {
                    merger.dirt.bad_rows += 1;
                    if merger.dirt.examples.len() < 5 {
                        merger.dirt.examples.push(error.to_string());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(rows)
    }
}

/// Bytes for an error message: quoted, at most 60 characters.
pub(super) fn shown(bytes: &[u8], nothing: &str) -> String {
    if bytes.is_empty() {
        return nothing.to_owned();
    }
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}
