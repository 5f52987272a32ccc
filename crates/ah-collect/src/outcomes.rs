//! Outcomes without a time, beside the log in `<log>.outcomes.jsonl`: one JSON object a line.
//!
//! The log has no place for a reason: it has the time `inf` for a failed choice, and no row for one that was skipped or not
//! measured. A line here names an input, choices (none: the whole input), the outcome and its reason. Skipped choices and
//! skipped or failed inputs are done; an unmeasured one is measured by a later run. `docs/log-format.md` has the format.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use ah_model::Error;
use ah_types::Failure;
use serde::{Deserialize, Serialize};

/// One line: choices of one input that have the same outcome for the same reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OutcomeRecord {
    /// The features' text as written in the log.
    pub(crate) input: String,
    /// Empty for the whole input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) choices: Vec<String>,
    /// The outcome and its reason, as a worker answers them.
    #[serde(flatten)]
    failure: Failure,
}

impl OutcomeRecord {
    /// The record of a whole input.
    pub(crate) fn of_input(input: &str, failure: &Failure) -> Self {
        let failure = match failure.clone() {
            Failure::DeviceLost(reason) => Failure::Unmeasured(reason),
            other => other,
        };
        Self { input: input.to_owned(), choices: Vec::new(), failure }
    }

    /// The records of choices without a time on one input.
    pub(crate) fn of_choices<'a>(
        input: &str,
        failures: impl IntoIterator<Item = (&'a str, &'a Failure)>,
    ) -> Vec<Self> {
        let mut records: Vec<Self> = Vec::new();
        for (choice, failure) in failures {
            let record = Self::of_input(input, failure);
            match records.iter_mut().find(|known| known.failure == record.failure) {
                Some(alike) => alike.choices.push(choice.to_owned()),
                None => records.push(Self { choices: vec![choice.to_owned()], ..record }),
            }
        }
        records
    }

    /// Whether a later run leaves it as it is. A failed choice has a row in the log, so its record decides nothing.
    pub(crate) fn is_done(&self) -> bool {
        match self.failure {
            Failure::Skipped(_) => true,
            Failure::Failed(_) => self.choices.is_empty(),
            Failure::Unmeasured(_) | Failure::DeviceLost(_) => false,
        }
    }
}

/// The file, open for appending.
#[derive(Debug)]
pub(crate) struct OutcomesFile {
    path: PathBuf,
    pub(crate) file: File,
}

impl OutcomesFile {
    /// Opens or makes the file that belongs to `log`: `train.txt.outcomes.jsonl` beside `train.txt`.
    pub(crate) fn open(log: &Path) -> Result<Self, Error> {
        let mut path = log.as_os_str().to_owned();
        path.push(".outcomes.jsonl");
        let path = PathBuf::from(path);
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = file.map_err(Error::io(&path, "open"))?;
        Ok(Self { path, file })
    }

    /// Reads the records. Ends a torn last line, which is then no record.
    pub(crate) fn read(&mut self) -> Result<Vec<OutcomeRecord>, Error> {
        let path = &self.path;
        let io = |action| Error::io(path, action);
        let mut text = String::new();
        self.file.rewind().and_then(|()| self.file.read_to_string(&mut text)).map_err(io("read"))?;
        let whole = text.rfind('\n').map_or(0, |i| i + 1);
        if whole < text.len() {
            self.file.write_all(b"\n").map_err(io("repair"))?;
        }
        // A line that is not a record contains nothing that the log needs: its input is measured again.
        Ok(text[..whole].lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Appends these records, as one write.
    pub(crate) fn append(&mut self, records: &[OutcomeRecord]) -> Result<(), Error> {
        let line = |record| serde_json::to_string(record).unwrap_or_default() + "\n";
        let text: String = records.iter().map(line).collect();
        self.file.write_all(text.as_bytes()).map_err(Error::io(&self.path, "write"))
    }
}
