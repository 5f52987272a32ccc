//! Reads logs line by line into interned inputs, interned choices, and one small record per sample.

use std::io::Read;
use std::path::Path;

use super::data::{Log, Source};
use super::error::{LogError, io_error};
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
    let column = |name: &String| match name.as_str() {
        CHOICE_COLUMN => Column::Choice,
        FEEDBACK_COLUMN => Column::Feedback,
        name => {
            let slot = merger.schema.slot(name).unwrap_or_default();
            Column::Feature { slot, kind: merger.schema.features()[slot].kind }
        }
    };
    let mut reader = RowReader::new(columns.iter().map(column).collect());
    let (inputs_before, samples_before) = (merger.inputs.len(), merger.samples.len());
    let irregularities_before = merger.irregularities.clone();
    let mut rows = 0;
    while let Some((line, text)) = lines.next().map_err(io_error(path, "read"))? {
        if text.iter().all(u8::is_ascii_whitespace) {
            merger.irregularities.blank_lines += 1;
            continue;
        }
        match reader.row(text, merger) {
            Ok(()) => rows += 1,
            Err(fault) if options.skip_bad_rows => {
                let kind = fault.expected.clone();
                merger.irregularities.bad_rows.add(&kind, || malformed(path, line, fault).to_string());
            }
            Err(fault) => return Err(malformed(path, line, fault)),
        }
    }
    let hash = lines.hash();
    if !hash.is_empty() && merger.sources.iter().any(|source| source.hash == hash) {
        // The same bytes add no input or choice, so only the samples are removed again.
        merger.samples.truncate(samples_before);
        merger.irregularities = irregularities_before;
        merger.irregularities.repeated.push(path.to_owned());
        rows = 0;
    } else if !lines.terminated {
        merger.irregularities.unterminated.push(path.to_owned());
    }
    let new_inputs = (merger.inputs.len() - inputs_before) as u64;
    merger.sources.push(Source { path: path.to_owned(), hash, rows, new_inputs });
    Ok(())
}

fn malformed(path: &Path, line: u64, fault: RowError) -> LogError {
    let hint = "mend the row, or pass over such rows with --skip-bad-rows";
    LogError::malformed(path, (line, fault.column), fault.expected, fault.found, hint)
}

/// Checks that a further log belongs to the same log. Parts of one sequence may have other seeds and choices, and machines
/// of one kind what [`Device::admits`](crate::Device::admits) allows: drivers, clocks, versions of libraries.
fn agree(path: &Path, merger: &Merger, metadata: &Metadata) -> Result<(), LogError> {
    let is_same_kind = match (merger.metadata.device(), metadata.device()) {
        (Some(first), Some(other)) => first.admits(other).is_ok(),
        _ => false,
    };
    let may_differ = |key: &str| {
        ["autoheuristic_rs.seed", "choices"].contains(&key)
            || is_same_kind && key.starts_with("autoheuristic_rs.device.")
    };
    let mut found = differences(&merger.metadata, metadata);
    found.retain(|difference| !may_differ(&difference.key));
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
