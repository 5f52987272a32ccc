//! The contents of a log.

use std::path::PathBuf;

use ah_model::{ChoiceId, Context, Schema, Value};

use super::devices::LoggedDevice;
use super::metadata::Metadata;
use crate::tally::Tally;

/// One or several logs with the same metadata.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The metadata of the first file.
    pub metadata: Metadata,
    /// The devices of the logs: one, unless the [options](super::ReadOptions) allow several.
    pub devices: Vec<LoggedDevice>,
    /// The features, in the order of the first file's header, then those of devices.
    pub schema: Schema,
    /// The names of all choices, sorted: a [`ChoiceId`] is a position here.
    pub choices: Vec<String>,
    /// The distinct contexts, in order of first appearance.
    pub inputs: Vec<Input>,
    /// All samples, in order.
    pub samples: Vec<Sample>,
    /// The files.
    pub sources: Vec<Source>,
    /// What the reader skipped or found suspicious.
    pub irregularities: Irregularities,
}

/// One distinct context.
#[derive(Clone, Debug)]
pub struct Input {
    /// The values, by slot of the schema.
    pub values: Box<[Value]>,
    /// The values as a log of ours writes them, joined by commas: equal values have equal texts.
    pub text: Box<str>,
}

/// One timing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The position of its input in [`Log::inputs`].
    pub input: u32,
    /// Its choice.
    pub choice: ChoiceId,
    /// Milliseconds; infinite if the choice failed.
    pub feedback: f64,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path as given.
    pub path: PathBuf,
    /// BLAKE3 of the unpacked bytes, in hex; empty without the feature `hash`.
    pub hash: String,
    /// The day of measuring, `2026-11-24`; empty if unknown.
    pub date: String,
    /// The number of rows; 0 if the file repeats an earlier one.
    pub rows: u64,
}

/// What the reader skipped or found suspicious.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Irregularities {
    /// The number of blank lines.
    pub blank_lines: u64,
    /// The errors of the malformed rows that `skip_bad_rows` skipped.
    pub bad_rows: Tally,
    /// Files with the same bytes as an earlier file; each counts once.
    pub repeated: Vec<PathBuf>,
    /// Choices with rows that no file's metadata lists, sorted; empty if a file's metadata lists no choices.
    pub unlisted: Vec<String>,
    /// Files whose last line has no line end: its number may be incomplete.
    pub unterminated: Vec<PathBuf>,
}

impl Log {
    /// Returns the context of an input.
    pub fn context(&self, input: usize) -> Context {
        let names = self.schema.features().iter().map(|f| f.name.as_str());
        names.zip(self.inputs[input].values.iter().cloned()).collect()
    }

    /// Returns the id of the choice with this name.
    pub fn choice_id(&self, name: &str) -> Option<ChoiceId> {
        ChoiceId::find(&self.choices, name)
    }

    /// Returns the name of a choice.
    pub fn choice_name(&self, id: ChoiceId) -> &str {
        &self.choices[id.index()]
    }
}
