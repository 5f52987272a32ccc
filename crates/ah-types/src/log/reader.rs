//! Reads logs line by line into interned inputs, interned choices, and one small record per sample.

use std::io::Read;
use std::path::Path;

use super::data::{Log, Source};
use super::error::{LogError, LogPlace, io_error};
use super::head::Head;
use super::lines::Lines;
use super::merger::Merger;
use super::metadata::{CHOICE_COLUMN, FEEDBACK_COLUMN, Metadata, differences};
use super::rows::{Column, RowError, RowReader};

/// Options of reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Skip and count malformed rows instead of ending with an error.
    pub skip_bad_rows: bool,
    /// Read at most this many rows of each file.
    pub max_rows: Option<u64>,
}

/// Reads one or several logs (plain or gzip) as one.
///
/// # Errors
/// [`LogError`] with file, line, column, expected and found.
pub fn read(paths: &[impl AsRef<Path>]) -> Result<Log, LogError> {
    read_with(paths, ReadOptions::default())
}

/// Reads logs like [`read`], with options.
///
/// # Errors
/// As [`read`]; with `skip_bad_rows`, malformed rows are counted instead.
///
/// # Panics
/// If `paths` is empty.
pub fn read_with(paths: &[impl AsRef<Path>], options: ReadOptions) -> Result<Log, LogError> {
    assert!(!paths.is_empty(), "give at least one log");
    let mut merged: Option<Merger> = None;
    for path in paths {
        let path = path.as_ref();
        let reader = open(path).map_err(io_error(path, "read"))?;
        read_into(&mut merged, path, reader, options)?;
    }
    finish(merged, paths[0].as_ref())
}

/// Reads one plain log from memory; `path` is its name in errors.
///
/// # Errors
/// As [`read_with`].
pub fn read_bytes(path: &Path, bytes: &[u8], options: ReadOptions) -> Result<Log, LogError> {
    let mut merged = None;
    read_into(&mut merged, path, bytes, options)?;
    finish(merged, path)
}

fn finish(merged: Option<Merger>, first: &Path) -> Result<Log, LogError> {
    match merged {
        Some(merger) if !merger.samples.is_empty() => Ok(merger.finish()),
        _ => Err(LogError::Empty { path: first.to_owned() }),
    }
}

/// Reads the first line of a log.
///
/// # Errors
/// [`LogError`], also where the second line does not fit with it.
pub fn read_metadata(path: &Path) -> Result<Metadata, LogError> {
    let mut lines = Lines::new(open(path).map_err(io_error(path, "read"))?);
    Ok(Head::read(path, &mut lines)?.metadata)
}

/// Opens a file for reading once. Gzip is recognized by its first bytes, not by the file's name, and unpacked.
///
/// # Errors
/// I/O errors, also while reading: gzip of more than 64 MiB that unpacks to more than 128 times its size is refused.
pub fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    use std::io::{Error, ErrorKind};
    if path.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "it is a directory; give the file inside it"));
    }
    crate::artefact::open(path)
}

/// Reads one log from `reader`; `path` is its name in errors.
fn read_into(
    merged: &mut Option<Merger>,
    path: &Path,
    reader: impl Read,
    options: ReadOptions,
) -> Result<(), LogError> {
    let mut lines = Lines::new(reader);
    let Head { metadata, schema, columns } = Head::read(path, &mut lines)?;
    if let Some(merger) = merged {
        agree(path, merger, &metadata)?;
    }
    let listed = metadata.choices.clone();
    let merger = merged.get_or_insert_with(|| Merger::new(metadata, schema));
    merger.list_choices(listed.as_deref());
    let mut file = LogFile::new(path, &columns, lines, merger);
    let (inputs_before, samples_before) = (merger.inputs.len(), merger.samples.len());
    let irregularities_before = merger.irregularities.clone();
    let mut rows = 0;
    while options.max_rows.is_none_or(|max| rows < max)
        && let Some(line) = file.next(merger)?
    {
        match line {
            Line::Blank => merger.irregularities.blank_lines += 1,
            Line::Row => rows += 1,
            Line::Malformed(fault) if options.skip_bad_rows => {
                let kind = fault.expected.clone();
                merger.irregularities.bad_rows.add(&kind, || file.error(fault).to_string());
            }
            Line::Malformed(fault) => return Err(file.error(fault)),
        }
    }
    let end = file.lines.finish().map_err(io_error(path, "read"))?;
    if !end.hash.is_empty() && merger.sources.iter().any(|source| source.hash == end.hash) {
        // The same bytes add no input or choice, so only the samples are removed again.
        merger.samples.truncate(samples_before);
        merger.irregularities = irregularities_before;
        merger.irregularities.repeated.push(path.to_owned());
        rows = 0;
    } else if !end.terminated {
        merger.irregularities.unterminated.push(path.to_owned());
    }
    let new_inputs = (merger.inputs.len() - inputs_before) as u64;
    merger.sources.push(Source { path: path.to_owned(), hash: end.hash, rows, new_inputs });
    Ok(())
}

/// The rows of one log, which go into a [`Merger`] one by one.
pub(super) struct LogFile<'p, R> {
    path: &'p Path,
    lines: Lines<R>,
    rows: RowReader,
}

/// What a line below the header is.
pub(super) enum Line {
    Blank,
    /// A row, which is the last sample of the merger now.
    Row,
    Malformed(RowError),
}

impl<'p, R: Read> LogFile<'p, R> {
    /// Continues below the head of a log with these columns, whose features `merger` has.
    pub(super) fn new(path: &'p Path, columns: &[String], lines: Lines<R>, merger: &Merger) -> Self {
        let column = |name: &String| match name.as_str() {
            CHOICE_COLUMN => Column::Choice,
            FEEDBACK_COLUMN => Column::Feedback,
            name => {
                let slot = merger.schema.slot(name).unwrap_or_default();
                Column::Feature { slot, kind: merger.schema.features()[slot].kind }
            }
        };
        Self { path, lines, rows: RowReader::new(columns.iter().map(column).collect()) }
    }

    /// Reads the next line; `None` at the end.
    pub(super) fn next(&mut self, merger: &mut Merger) -> Result<Option<Line>, LogError> {
        let Some((_, text)) = self.lines.next().map_err(io_error(self.path, "read"))? else {
            return Ok(None);
        };
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(Line::Blank));
        }
        Ok(Some(self.rows.row(text, merger).map_or_else(Line::Malformed, |()| Line::Row)))
    }

    /// Returns the error of the last line.
    pub(super) fn error(&self, fault: RowError) -> LogError {
        let line = self.lines.number();
        LogError::Malformed {
            place: LogPlace { path: self.path.to_owned(), line, column: fault.column as u64 },
            expected: fault.expected,
            found: fault.found,
            hint: "mend the row, or pass over such rows with --skip-bad-rows".to_owned(),
        }
    }

    /// Returns the number of the last line if it has no line end: its time may be cut short.
    pub(super) fn torn_line(&self) -> Option<u64> {
        (!self.lines.terminated()).then(|| self.lines.number())
    }
}

fn agree(path: &Path, merger: &Merger, metadata: &Metadata) -> Result<(), LogError> {
    let mut found = differences(&merger.metadata, metadata);
    // Parts of one seeded sequence, or several seeds, may be merged.
    found.retain(|d| d.key != "autoheuristic_rs.seed" && d.key != "choices");
    if found.is_empty() {
        return Ok(());
    }
    Err(LogError::Metadata {
        path: path.to_owned(),
        other: merger.sources.first().map_or_else(String::new, |s| s.path.display().to_string()),
        differences: found,
        hint: "logs with other features, or of devices that nothing in them tells apart, cannot be merged; learn from each alone",
    })
}
