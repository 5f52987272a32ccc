//! Picks on disk: one JSON file per MultiKernel, set of kernels and device.
//!
//! ```json
//! {"format": "autoheuristic-picks", "version": 3, "name": "softmax", "device": {…},
//!  "kernels": [{"name": "looped", "version": "1f3a…"}, {"name": "persistent", "version": "77b0…"}],
//!  "features": [{"name": "rows", "kind": "numerical"}, {"name": "columns", "kind": "numerical"}],
//!  "picks": [{"guards": [{"equals": 64.0}, {"above": 512.0, "up_to": 1024.0}], "kernel": 1, "ms": [0.21, 0.17]}]}
//! ```
//!
//! A pick has a guard for each feature, the position of its kernel, and the time of each kernel.
//! A file is read whole or ignored with a warning: its format, kernels, versions, features and device must be this
//! program's. A file is replaced whole, so that no reader sees part of one; of
//! several processes, the last one wins.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_types::shown::quoted;
use ah_types::{Device, FeatureKind, artefact};
use serde::Serialize;
use serde_json::{Value, json};

use super::table::{Pick, Table};
use crate::environment::file_name;
use crate::files;

const FORMAT: &str = "autoheuristic-picks";
const VERSION: u32 = 3;
/// A pick takes about 300 bytes, so no honest file is this large.
const MAX_BYTES: u64 = 16 << 20;

/// The kernels, features and device that a file of picks is for. All must agree.
#[derive(Clone, Debug)]
pub(crate) struct KernelSet {
    pub(crate) name: String,
    pub(crate) device: Device,
    pub(crate) kernels: Vec<KernelVersion>,
    pub(crate) features: Vec<KeyFeature>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct KernelVersion {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct KeyFeature {
    pub(crate) name: String,
    pub(crate) kind: FeatureKind,
}

/// Why a file of picks is ignored.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum PicksError {
    /// The file cannot be read or written.
    #[error("{}: cannot {action} the picks: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: std::io::Error },
    /// The content is malformed, or not of this program.
    #[error("{}: not the picks of this program: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
}

impl KernelSet {
    /// Returns the contents of a file with these picks. The same picks give the same bytes.
    fn file(&self, picks: &[&Arc<Pick>]) -> Value {
        json!({
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "device": self.device,
            "kernels": self.kernels,
            "features": self.features,
            "picks": picks.iter().map(|pick| &***pick).collect::<Vec<_>>(),
        })
    }

    /// Returns the picks in the text of a file.
    ///
    /// # Errors
    /// Expected and found, in words.
    pub(crate) fn parse(&self, text: &str) -> Result<Vec<Pick>, String> {
        let mut file: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let picks = file.get_mut("picks").map(Value::take).unwrap_or_default();
        for (key, expected) in
            self.file(&[]).as_object().into_iter().flatten().filter(|(key, _)| *key != "picks")
        {
            let found = file.get(key).unwrap_or(&Value::Null);
            if found != expected {
                return Err(format!("expected the {key} {expected}, found {}", quoted(&found.to_string())));
            }
        }
        let picks: Vec<Pick> = serde_json::from_value(picks).map_err(|e| e.to_string())?;
        let fits = |pick: &Pick| {
            pick.guards.len() == self.features.len()
                && pick.ms.len() == self.kernels.len()
                && pick.ms.iter().flatten().all(|ms| *ms >= 0.0)
                && pick.ms.get(pick.kernel).is_some_and(Option::is_some)
        };
        match picks.iter().position(|pick| !fits(pick)) {
            None => Ok(picks),
            Some(at) => Err(format!(
                "pick {at}: expected {} guards, times of {} kernels, none below 0, and one of the picked kernel",
                self.features.len(),
                self.kernels.len()
            )),
        }
    }

    /// Returns the name of the file for these kernels, features and this device.
    pub(crate) fn file_name(&self) -> String {
        let head = self.file(&[]).to_string();
        format!("{}-{:016x}.json", file_name(&self.name), ah_types::hash::fnv1a(&head))
    }
}

/// Reads a file of picks; `None` if there is no file.
pub(crate) fn read(path: &Path, kernels: &KernelSet) -> Result<Option<Vec<Pick>>, PicksError> {
    let io = |source| PicksError::Io { path: path.to_owned(), action: "read", source };
    let invalid = |reason: String| PicksError::Invalid { path: path.to_owned(), reason };
    files::expect_regular(path).map_err(io)?;
    let file = match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(io)?,
    };
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(io)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(invalid(format!("expected at most {MAX_BYTES} bytes")));
    }
    kernels.parse(&text).map(Some).map_err(invalid)
}

/// Replaces a file by the picks of a table.
pub(crate) fn write(path: &Path, kernels: &KernelSet, table: &Table) -> Result<(), PicksError> {
    let io = |source| PicksError::Io { path: path.to_owned(), action: "write", source };
    files::expect_regular(path).map_err(io)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    let text = format!("{:#}\n", kernels.file(&table.picks()));
    artefact::write_atomic(path, text.as_bytes()).map_err(io)
}
