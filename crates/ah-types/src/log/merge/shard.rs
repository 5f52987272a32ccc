//! One log of a merge, read once: every row is checked, and only digests are kept.

use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_hash::FxHasher;

use super::error::MergeError;
use super::row::{Digest, Row, RowSplitter};
use crate::feature::FeatureKind;
use crate::log::error::{LogError, LogPlace, io_error};
use crate::log::head::Head;
use crate::log::lines::Lines;
use crate::log::metadata::{CHOICE_COLUMN, Difference, FEEDBACK_COLUMN, Metadata};
use crate::log::reader::{SKIP_HINT, open};
use crate::log::rows::RowError;
use crate::shown::listed;

/// A log that was read once.
pub(super) struct Shard {
    pub(super) path: PathBuf,
    pub(super) metadata: Metadata,
    pub(super) columns: Vec<String>,
    /// Rows that can be merged.
    pub(super) rows: u64,
    /// The digest of each run of rows of one input, until [`Inputs::add`](super::inputs::Inputs::add) takes them.
    pub(super) runs: Vec<Digest>,
    /// Distinct inputs.
    pub(super) inputs: u64,
    /// Inputs that an earlier log holds.
    pub(super) repeated: u64,
    pub(super) blank_lines: u64,
    pub(super) bad_rows: u64,
    /// The message of the first malformed row that was left out.
    pub(super) bad_row: Option<String>,
    /// The number of the last line, if it has no line end. Its time may be cut short, so it is left out.
    pub(super) torn_line: Option<u64>,
    /// The differences of its metadata from the first log's, in keys that may differ.
    pub(super) differences: Vec<Difference>,
    /// The sum of the rows' hashes, so that it does not depend on their order.
    checksum: u64,
    stamp: (u64, Option<SystemTime>),
}

impl Shard {
    /// Reads the log at `path`.
    pub(super) fn scan(path: &Path, skip_bad_rows: bool) -> Result<Self, MergeError> {
        let stamp = stamp(path)?;
        let mut reader = ShardReader::open(path)?;
        let columns = &reader.head.columns;
        let [.., choice, feedback] = &columns[..] else { return Err(column_order(path, columns)) };
        if columns.len() < 3 || choice != CHOICE_COLUMN || feedback != FEEDBACK_COLUMN {
            return Err(column_order(path, columns));
        }
        let mut shard = Self {
            path: path.to_owned(),
            metadata: reader.head.metadata.clone(),
            columns: columns.clone(),
            rows: 0,
            runs: Vec::new(),
            inputs: 0,
            repeated: 0,
            blank_lines: 0,
            bad_rows: 0,
            bad_row: None,
            torn_line: None,
            differences: Vec::new(),
            checksum: 0,
            stamp,
        };
        let mut hash = 0_u64;
        while let Some(line) = reader.next(|row, text| {
            let mut hasher = FxHasher::default();
            hasher.write(text);
            hash = hasher.finish();
            row.map(|row| row.input)
        })? {
            match line {
                Line::Blank => shard.blank_lines += 1,
                Line::Torn(number) => shard.torn_line = Some(number),
                Line::Row(_, Ok(input)) => {
                    shard.rows += 1;
                    shard.checksum = shard.checksum.wrapping_add(hash);
                    if shard.runs.last() != Some(&input) {
                        shard.runs.push(input);
                    }
                }
                Line::Row(number, Err(fault)) => shard.count_bad_row(number, fault, skip_bad_rows)?,
            }
        }
        Ok(shard)
    }

    fn count_bad_row(&mut self, line: u64, fault: RowError, skip: bool) -> Result<(), LogError> {
        let error = LogError::Malformed {
            place: LogPlace { path: self.path.clone(), line, column: fault.column as u64 },
            expected: fault.expected,
            found: fault.found,
            hint: SKIP_HINT.to_owned(),
        };
        if !skip {
            return Err(error);
        }
        self.bad_rows += 1;
        self.bad_row.get_or_insert_with(|| error.to_string());
        Ok(())
    }

    /// Returns true if both hold the same rows, in any order.
    pub(super) fn has_the_rows_of(&self, other: &Self) -> bool {
        let rows = |shard: &Self| (shard.rows, shard.inputs, shard.checksum);
        self.rows > 0 && rows(self) == rows(other)
    }

    /// Returns true if every line of the log is a row that stays as it is.
    pub(super) fn is_clean(&self) -> bool {
        (self.repeated, self.blank_lines, self.bad_rows, self.torn_line) == (0, 0, 0, None)
    }

    /// Fails if the log changed since it was scanned.
    pub(super) fn expect_unchanged(&self) -> Result<(), MergeError> {
        if stamp(&self.path)? == self.stamp {
            return Ok(());
        }
        Err(MergeError::Growing { path: self.path.clone() })
    }
}

/// Returns the length and the time of the last change. It is only compared with itself.
fn stamp(path: &Path) -> Result<(u64, Option<SystemTime>), LogError> {
    let metadata = std::fs::metadata(path).map_err(io_error(path, "read"))?;
    if !metadata.is_file() && !metadata.is_dir() {
        let why = "it is no regular file, and a merge reads each log twice; write it to a file first";
        return Err(io_error(path, "merge")(std::io::Error::new(std::io::ErrorKind::InvalidInput, why)));
    }
    Ok((metadata.len(), metadata.modified().ok()))
}

fn column_order(path: &Path, columns: &[String]) -> MergeError {
    let error = LogError::Malformed {
        place: LogPlace { path: path.to_owned(), line: 2, column: 0 },
        expected: format!("features, then {CHOICE_COLUMN} and {FEEDBACK_COLUMN}"),
        found: format!("the columns {}", listed(columns)),
        hint: "reorder the columns; a merge keeps rows as they are".to_owned(),
    };
    error.into()
}

/// A line behind the header.
pub(super) enum Line<T> {
    Blank,
    /// The last line, without a line end.
    Torn(u64),
    /// A row, or the reason why it is not one, with its number.
    Row(u64, T),
}

/// Reads the rows of a log one by one.
pub(super) struct ShardReader {
    path: PathBuf,
    pub(super) head: Head,
    lines: Lines<Box<dyn std::io::Read>>,
    splitter: RowSplitter,
}

impl ShardReader {
    pub(super) fn open(path: &Path) -> Result<Self, LogError> {
        let mut lines = Lines::new(open(path).map_err(io_error(path, "read"))?);
        let head = Head::read(path, &mut lines)?;
        let features = head.schema.features().iter().map(|f| f.kind).collect::<Vec<FeatureKind>>();
        Ok(Self { path: path.to_owned(), head, lines, splitter: RowSplitter::new(features) })
    }

    /// Calls `read` with the next row and its text, unless the line is blank. `None` at the end.
    pub(super) fn next<T>(
        &mut self,
        read: impl FnOnce(Result<Row<'_>, RowError>, &[u8]) -> T,
    ) -> Result<Option<Line<T>>, LogError> {
        let Some((number, text)) = self.lines.next().map_err(io_error(&self.path, "read"))? else {
            return Ok(None);
        };
        let blank = text.iter().all(u8::is_ascii_whitespace);
        let row = (!blank).then(|| read(self.splitter.split(text), text));
        Ok(Some(match row {
            None => Line::Blank,
            Some(_) if !self.lines.terminated() => Line::Torn(number),
            Some(row) => Line::Row(number, row),
        }))
    }

    /// Calls `read` with the text of the next line; false at the end.
    pub(super) fn next_text(&mut self, read: impl FnOnce(&[u8])) -> Result<bool, LogError> {
        let line = self.lines.next().map_err(io_error(&self.path, "read"))?;
        Ok(line.map(|(_, text)| read(text)).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_grows_while_it_is_merged_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let head = r#"{"name":"x","device_capa":[0,0],"numerical_features":["m"],"categorical_features":[]}"#;
        let mut text = format!("{head}\nm,choice,feedback\n1,a,1\n");
        std::fs::write(&path, &text).unwrap();
        let shard = Shard::scan(&path, false).unwrap();
        shard.expect_unchanged().unwrap();
        text.push_str("1,b,1\n");
        std::fs::write(&path, &text).unwrap();
        let error = shard.expect_unchanged().unwrap_err();
        assert!(matches!(error, MergeError::Growing { .. }), "{error}");
    }
}
