//! Reading logs: line by line into interned inputs, interned choices and one small record a sample.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use super::merger::Merger;
use super::metadata::Metadata;
use super::{LogError, file, io_error};
use crate::choice::ChoiceId;
use crate::context::{Context, Value};
use crate::feature::Schema;

/// One or several logs with the same metadata.
#[derive(Clone, Debug)]
pub struct Log {
    /// Of the first file.
    pub metadata: Metadata,
    /// The features, in the order of the first file's header.
    pub schema: Schema,
    /// All choices by name, sorted: a [`ChoiceId`] is a position here.
    pub choices: Vec<String>,
    /// The distinct contexts, in order of first appearance.
    pub inputs: Vec<Input>,
    /// All samples, in order.
    pub samples: Vec<Sample>,
    /// The files.
    pub sources: Vec<Source>,
    /// What was passed over.
    pub dirt: Dirt,
}

/// One distinct context.
#[derive(Clone, Debug)]
pub struct Input {
    /// The values by slot of the schema.
    pub values: Box<[Value]>,
    /// The features' text as it stands in the log, joined by commas.
    pub text: Box<str>,
}

/// One timing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The position of its input.
    pub input: u32,
    /// Its choice.
    pub choice: ChoiceId,
    /// Milliseconds; infinite where the choice failed.
    pub feedback: f64,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As it was given.
    pub path: PathBuf,
    /// BLAKE3 of its (unpacked) bytes, in hex; empty without the feature `hash`.
    pub hash: String,
    /// Its rows.
    pub rows: u64,
    /// The inputs that no file before it held.
    pub new_inputs: u64,
}

/// What was passed over while reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirt {
    /// Lines without text.
    pub blank_lines: u64,
    /// Rows passed over because of `skip_bad_rows`; the first few as errors.
    pub bad_rows: u64,
    /// Up to five of their errors.
    pub examples: Vec<String>,
    /// Files whose last line lacks its end, so that its number may be cut short.
    pub unterminated: Vec<PathBuf>,
}

/// How to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Pass over malformed rows and count them, instead of ending with an error.
    pub skip_bad_rows: bool,
    /// Read only so many rows of each file.
    pub max_rows: Option<u64>,
}

impl Log {
    /// The context of an input.
    #[must_use]
    pub fn context(&self, input: usize) -> Context {
        let names = self.schema.features().iter().map(|f| f.name.as_str());
        names.zip(self.inputs[input].values.iter().cloned()).collect()
    }

    /// The id of the choice of this name.
    #[must_use]
    pub fn choice_id(&self, name: &str) -> Option<ChoiceId> {
        let position = self.choices.binary_search_by(|c| c.as_str().cmp(name)).ok()?;
        u32::try_from(position).ok().map(ChoiceId)
    }

    /// The name of a choice.
    #[must_use]
    pub fn choice_name(&self, id: ChoiceId) -> &str {
        &self.choices[id.index()]
    }
}

/// The first bytes of a gzip file.
pub(super) const GZIP: &[u8] = &[0x1f, 0x8b];

/// Reads one or several logs (plain or gzip) as one.
///
/// # Errors
/// [`LogError`] with file, line, column, expected and found.
pub fn read(paths: &[impl AsRef<Path>]) -> Result<Log, LogError> {
    read_with(paths, ReadOptions::default())
}

/// [`read`] with options.
///
/// # Errors
/// As [`read`]; with `skip_bad_rows`, malformed rows are counted instead.
///
/// # Panics
/// When `paths` is empty.
pub fn read_with(paths: &[impl AsRef<Path>], options: ReadOptions) -> Result<Log, LogError> {
    assert!(!paths.is_empty(), "give at least one log");
    let mut merged: Option<Merger> = None;
    for path in paths {
        let path = path.as_ref();
        let reader = open(path).map_err(io_error(path, "read"))?;
        file::read_into(&mut merged, path, reader, options)?;
    }
    let Some(merger) = merged else { unreachable!("every file either makes a merger or fails") };
    if merger.samples.is_empty() {
        return Err(LogError::Empty { path: paths[0].as_ref().to_owned() });
    }
    Ok(merger.finish())
}

/// The bytes of a file, unpacked where it is gzip (told by its first bytes, not by its name).
pub(super) fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    use std::io::{Error, ErrorKind};
    if path.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "it is a directory; give the log inside it"));
    }
    let mut file = File::open(path)?;
    let mut magic = Vec::with_capacity(2);
    file.by_ref().take(2).read_to_end(&mut magic)?;
    let packed = magic == GZIP;
    let bytes = Cursor::new(magic).chain(file);
    if !packed {
        return Ok(Box::new(bytes));
    }
    #[cfg(feature = "gzip")]
    return Ok(Box::new(flate2::read::MultiGzDecoder::new(bytes)));
    #[cfg(not(feature = "gzip"))]
    Err(Error::new(ErrorKind::Unsupported, "it is packed with gzip; unpack it first"))
}
