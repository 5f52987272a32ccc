//! Picks on disk: one JSON file per MultiKernel, set of kernels and device.
//!
//! ```json
//! {"format": "autoheuristic-picks", "version": 5, "name": "softmax", "device": {…},
//!  "kernels": [{"name": "looped", "version": "1f3a…"}, {"name": "persistent", "version": "77b0…"}],
//!  "features": [{"name": "rows", "kind": "numerical"}, {"name": "columns", "kind": "numerical"}],
//!  "picks": [{"guards": [{"equals": 64.0}, {"above": 512.0, "up_to": 1024.0}], "kernel": 1, "checked": true,
//!             "ms": [0.21, 0.17]}]}
//! ```
//!
//! A pick has a guard for each feature, the position of its kernel, whether the kernels' results were checked, and the time of each
//! kernel.
//! A file is read whole or ignored with a warning: its format, kernels, versions, features and device must be this
//! program's. A file is replaced whole, so that no reader sees part of one; of
//! several processes, the last one wins.

use std::io::ErrorKind;
use std::path::Path;

use ah_model::artefact;
use ah_model::shown::quoted;
use serde_json::{Value, json};

use super::table::{Pick, Table};
use crate::decide::AutoHeuristic;
use crate::environment::file_name;
use crate::files;

/// A pick takes about 300 bytes, so no honest file is this large.
const MAX_MIB: u64 = 16;

/// The head of a file of picks: the kernels, features and device that it is for. All must agree.
#[derive(Clone, Debug)]
pub(crate) struct Head(Value);

impl Head {
    /// The head for the kernels of a decision point, which have these versions.
    pub(crate) fn new(decision: &AutoHeuristic, versions: &[String]) -> Self {
        let kernels = decision.choices().iter().zip(versions);
        let features = decision.features().features().iter();
        Self(json!({
            "format": "autoheuristic-picks",
            "version": 5,
            "name": decision.name(),
            "device": decision.device(),
            "kernels": kernels.map(|(name, version)| json!({ "name": name, "version": version })).collect::<Value>(),
            "features": features.map(|f| json!({ "name": f.name, "kind": f.kind })).collect::<Value>(),
            "picks": [],
        }))
    }

    /// The picks in the text of a file.
    ///
    /// # Errors
    /// Expected and found, in words.
    pub(crate) fn parse(&self, text: &str) -> Result<Vec<Pick>, String> {
        let mut file: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let picks = file.get_mut("picks").map(Value::take).unwrap_or_default();
        for (key, expected) in self.0.as_object().into_iter().flatten().filter(|(key, _)| *key != "picks") {
            let found = file.get(key).unwrap_or(&Value::Null);
            if found != expected {
                return Err(format!("expected the {key} {expected}, found {}", quoted(&found.to_string())));
            }
        }
        let picks: Vec<Pick> = serde_json::from_value(picks).map_err(|e| e.to_string())?;
        let count = |key: &str| self.0[key].as_array().map_or(0, Vec::len);
        let features = count("features");
        let kernels = count("kernels");
        let fits = |pick: &Pick| {
            pick.guards.len() == features
                && pick.ms.len() == kernels
                && pick.ms.iter().flatten().all(|ms| *ms >= 0.0)
                && pick.ms.get(pick.kernel).is_some_and(Option::is_some)
        };
        match picks.iter().position(|pick| !fits(pick)) {
            None => Ok(picks),
            Some(at) => Err(format!(
                "pick {at}: expected {features} guards, times of {kernels} kernels, none below 0, and one of the picked \
                 kernel"
            )),
        }
    }

    /// The name of the file for these kernels, features and this device.
    pub(crate) fn file_name(&self) -> String {
        let hash = ah_model::hash::fnv1a(&self.0.to_string());
        format!("{}-{hash:016x}.json", file_name(self.0["name"].as_str().unwrap_or_default()))
    }
}

/// Reads a file of picks; none if there is no file.
///
/// # Errors
/// Why it is ignored.
pub(crate) fn read(path: &Path, head: &Head) -> Result<Vec<Pick>, String> {
    let io = |source| format!("{}: cannot read the picks: {source}", path.display());
    let invalid = |reason| format!("{}: not the picks of this program: {reason}", path.display());
    match files::expect_regular(path).and_then(|()| artefact::read_text(path, MAX_MIB)) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        text => head.parse(&text.map_err(io)?).map_err(invalid),
    }
}

/// Replaces a file by the picks of a table. The same picks give the same bytes.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(path: &Path, head: &Head, table: &Table) -> Result<(), String> {
    let mut file = head.0.clone();
    file["picks"] = json!(table.picks().iter().map(|pick| &***pick).collect::<Vec<_>>());
    let written = files::expect_regular(path).and_then(|()| {
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        artefact::write_atomic(path, format!("{file:#}\n").as_bytes())
    });
    written.map_err(|source| format!("{}: cannot write the picks: {source}", path.display()))
}
