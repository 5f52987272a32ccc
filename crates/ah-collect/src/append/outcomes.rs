//! Skips and failures with their reasons, beside the log in `<log>.outcomes.jsonl`: one JSON object a line.
//!
//! The log itself has no place for a reason: it has the time `inf` for a failed choice and no row for a
//! skipped one. An input that was skipped as a whole is recorded only here, and a resumed run does not try
//! it again. A choice that is skipped for the same reason on every input is recorded once.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use ah_model::Error;
use ah_types::Failure;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OutcomeRecord {
    /// The features' text as written in the log.
    pub(super) input: String,
    /// The choice; absent if the whole input was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) choice: Option<String>,
    outcome: Kind,
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Skipped,
    Failed,
}

impl OutcomeRecord {
    /// Returns the record of a failure that a later run does not try again.
    pub(super) fn new(input: &str, choice: Option<&str>, failure: &Failure) -> Option<Self> {
        let (outcome, reason) = match failure {
            Failure::Skipped(reason) => (Kind::Skipped, reason),
            Failure::Failed(reason) => (Kind::Failed, reason),
            Failure::Unmeasured(_) | Failure::DeviceLost(_) => return None,
        };
        let (input, choice, reason) = (input.to_owned(), choice.map(str::to_owned), reason.clone());
        Some(Self { input, choice, outcome, reason })
    }
}

/// The file, open for appending.
#[derive(Debug)]
pub(super) struct OutcomesFile {
    path: PathBuf,
    pub(super) file: File,
    skips: HashSet<(Option<String>, String)>,
}

impl OutcomesFile {
    /// Opens or makes the file that belongs to `log`: `train.txt.outcomes.jsonl` beside `train.txt`.
    pub(super) fn open(log: &Path) -> Result<Self, Error> {
        let mut path = log.as_os_str().to_owned();
        path.push(".outcomes.jsonl");
        let path = PathBuf::from(path);
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = file.map_err(Error::io(&path, "open"))?;
        Ok(Self { path, file, skips: HashSet::new() })
    }

    /// Reads the inputs that were skipped as a whole. Ends a torn last line, which is then no record. It is not cut off,
    /// because it may be the line that another part of the sequence writes at this moment.
    pub(super) fn read(&mut self) -> Result<HashSet<String>, Error> {
        let path = &self.path;
        let io = |action| Error::io(path, action);
        let mut text = String::new();
        self.file.rewind().and_then(|()| self.file.read_to_string(&mut text)).map_err(io("read"))?;
        let whole = text.rfind('\n').map_or(0, |i| i + 1);
        if whole < text.len() {
            self.file.write_all(b"\n").map_err(io("mend"))?;
        }
        let mut inputs = HashSet::new();
        // A line that is not a record contains nothing that the log needs.
        let records =
            text[..whole].lines().filter_map(|line| serde_json::from_str::<OutcomeRecord>(line).ok());
        for record in records {
            match (record.choice, record.outcome) {
                (None, _) => _ = inputs.insert(record.input),
                (choice, Kind::Skipped) => _ = self.skips.insert((choice, record.reason)),
                _ => {}
            }
        }
        Ok(inputs)
    }

    /// Returns the choices that were skipped on some input.
    pub(super) fn skipped_choices(&self) -> HashSet<String> {
        self.skips.iter().filter_map(|(choice, _)| choice.clone()).collect()
    }

    /// Appends these records, as one write.
    pub(super) fn append(&mut self, records: impl IntoIterator<Item = OutcomeRecord>) -> Result<(), Error> {
        let mut text = String::new();
        for record in records {
            let is_skip = record.choice.is_some() && record.outcome == Kind::Skipped;
            if !is_skip || self.skips.insert((record.choice.clone(), record.reason.clone())) {
                text.push_str(&serde_json::to_string(&record).unwrap_or_default());
                text.push('\n');
            }
        }
        if text.is_empty() {
            return Ok(());
        }
        self.file.write_all(text.as_bytes()).map_err(Error::io(&self.path, "write"))
    }
}
