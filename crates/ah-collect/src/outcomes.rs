//! Why there is no time: skips and failures with their reasons, kept beside the log as one JSON
//! object a line, in `<log>.outcomes.jsonl`.
//!
//! The log itself has no place for a reason: a failed choice stands there as `inf`, a skipped one
//! not at all. An input that was skipped altogether stands here alone, and a resumed run knows
//! from here that it need not try it again. A choice that is skipped for the same reason on every
//! input is recorded once.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use ah_types::Outcome;
use ah_types::log::LogError;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The features' text as it stands in the log.
    pub input: String,
    /// The choice; absent where the input was skipped altogether.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// Skipped or failed, and why.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The file, open for appending.
#[derive(Debug)]
pub struct Outcomes {
    path: PathBuf,
    file: File,
    skips: HashSet<(Option<String>, String)>,
}

impl Outcomes {
    /// Opens or makes the file that belongs to `log`, and returns with it the inputs that were
    /// skipped altogether. A torn last line is cut off.
    ///
    /// # Errors
    /// I/O errors name the file.
    pub fn open(log: &Path) -> Result<(Self, HashSet<String>), LogError> {
        let path = beside(log);
        let io = |action| {
            let path = path.clone();
            move |source| LogError::Io { path, action, source }
        };
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(io("open"))?;
        let mut text = String::new();
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut text)).map_err(io("read"))?;
        let whole = text.rfind('\n').map_or(0, |i| i + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(io("mend"))?;
        }
        let mut skips = HashSet::new();
        let mut inputs = HashSet::new();
        // A line that is no record holds nothing that the log needs.
        let records = text[..whole].lines().filter_map(|line| serde_json::from_str::<Record>(line).ok());
        for record in records {
            match (record.choice, record.outcome) {
                (None, _) => _ = inputs.insert(record.input),
                (choice, Outcome::Skipped { reason }) => _ = skips.insert((choice, reason)),
                _ => {}
            }
        }
        Ok((Self { path, file, skips }, inputs))
    }

    /// Appends these records, as one write.
    ///
    /// # Errors
    /// I/O errors name the file.
    pub fn append(&mut self, records: impl IntoIterator<Item = Record>) -> Result<(), LogError> {
        let mut text = String::new();
        for record in records {
            let known = match &record.outcome {
                Outcome::Skipped { reason } if record.choice.is_some() => {
                    !self.skips.insert((record.choice.clone(), reason.clone()))
                }
                _ => false,
            };
            if !known {
                text.push_str(&serde_json::to_string(&record).unwrap_or_default());
                text.push('\n');
            }
        }
        if text.is_empty() {
            return Ok(());
        }
        self.file.write_all(text.as_bytes()).map_err(|source| LogError::Io {
            path: self.path.clone(),
            action: "write",
            source,
        })
    }
}

/// `train.txt` → `train.txt.outcomes.jsonl`.
#[must_use]
pub fn beside(log: &Path) -> PathBuf {
    let mut name = OsString::from(log.as_os_str());
    name.push(".outcomes.jsonl");
    PathBuf::from(name)
}
