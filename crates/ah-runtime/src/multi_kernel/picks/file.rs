//! Picks on disk: one JSON file per MultiKernel, set of kernels and device.
//!
//! ```json
//! {"format": "autoheuristic-picks", "version": 2, "name": "softmax", "device": {…},
//!  "kernels": [{"name": "looped", "version": "1f3a…"}, {"name": "persistent", "version": "77b0…"}],
//!  "features": [{"name": "rows", "kind": "numerical"}, {"name": "columns", "kind": "numerical"}],
//!  "picks": [{"guards": [{"feature": "rows", "equals": 64.0}, {"feature": "columns", "above": 512.0, "up_to": 1024.0}],
//!             "kernel": "persistent", "ms": {"looped": 0.21, "persistent": 0.17}}]}
//! ```
//!
//! A file is read whole or ignored with a warning: its format, kernels, versions, features and device must be this
//! program's. A file is replaced whole, so that no reader sees part of one; of
//! several processes, the last one wins.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_types::{Device, FeatureKind, artefact};
use serde::{Deserialize, Serialize};

use super::guard::Guard;
use super::table::{Pick, Table};
use crate::environment::file_name;
use crate::files;

const FORMAT: &str = "autoheuristic-picks";
const VERSION: u32 = 2;
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KernelVersion {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyFeature {
    pub(crate) name: String,
    pub(crate) kind: FeatureKind,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PicksFile {
    format: String,
    version: u32,
    name: String,
    device: Device,
    kernels: Vec<KernelVersion>,
    features: Vec<KeyFeature>,
    picks: Vec<PickFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PickFile {
    guards: Vec<GuardFile>,
    kernel: String,
    /// `null` if the kernel failed. A kernel that was not eligible is left out.
    ms: BTreeMap<String, Option<f64>>,
}

#[derive(Serialize, Deserialize)]
struct GuardFile {
    feature: String,
    #[serde(flatten)]
    guard: Guard,
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
    /// Returns the text of a file with these picks. The same picks give the same bytes.
    pub(crate) fn print(&self, picks: &[&Arc<Pick>]) -> String {
        let mut picks: Vec<PickFile> = picks.iter().map(|pick| self.pick_file(pick)).collect();
        picks.sort_by_cached_key(|pick| serde_json::to_string(&pick.guards).unwrap_or_default());
        let file = PicksFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            name: self.name.clone(),
            device: self.device.clone(),
            kernels: self.kernels.clone(),
            features: self.features.clone(),
            picks,
        };
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    fn pick_file(&self, pick: &Pick) -> PickFile {
        let guard = |(guard, feature): (&Guard, &KeyFeature)| GuardFile {
            feature: feature.name.clone(),
            guard: guard.clone(),
        };
        let ms = self.kernels.iter().zip(&pick.ms).filter(|(_, ms)| !ms.is_nan());
        PickFile {
            guards: pick.guards.iter().zip(&self.features).map(guard).collect(),
            kernel: self.kernels[pick.kernel].name.clone(),
            ms: ms.map(|(kernel, ms)| (kernel.name.clone(), ms.is_finite().then_some(*ms))).collect(),
        }
    }

    /// Returns the picks in the text of a file.
    ///
    /// # Errors
    /// Expected and found, in words.
    pub(crate) fn parse(&self, text: &str) -> Result<Vec<Pick>, String> {
        let file: PicksFile = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if (file.format.as_str(), file.version) != (FORMAT, VERSION) {
            let PicksFile { format, version, .. } = file;
            return Err(format!(
                "expected {FORMAT:?}, version {VERSION}, found {format:?}, version {version}"
            ));
        }
        if file.name != self.name {
            return Err(format!("expected the name {:?}, found {:?}", self.name, file.name));
        }
        if file.device != self.device {
            return Err(format!("expected the device {}, found {}", self.device, file.device));
        }
        if file.kernels != self.kernels {
            let show = |kernels: &[KernelVersion]| {
                kernels.iter().map(|k| format!("{} {}", k.name, k.version)).collect::<Vec<_>>().join(", ")
            };
            let (expected, found) = (show(&self.kernels), show(&file.kernels));
            return Err(format!("expected the kernels {expected}, found {found}"));
        }
        if file.features != self.features {
            let show = |features: &[KeyFeature]| {
                features.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(", ")
            };
            let (expected, found) = (show(&self.features), show(&file.features));
            return Err(format!("expected the features {expected}, found {found}"));
        }
        file.picks.into_iter().map(|pick| self.pick(pick)).collect()
    }

    fn pick(&self, file: PickFile) -> Result<Pick, String> {
        let position = |name: &str| {
            let found = self.kernels.iter().position(|own| own.name == name);
            found.ok_or_else(|| format!("expected one of its kernels, found {name:?}"))
        };
        if file.guards.len() != self.features.len() {
            return Err(format!("expected {} guards, found {}", self.features.len(), file.guards.len()));
        }
        let guards =
            file.guards.into_iter().zip(&self.features).map(|(GuardFile { feature, guard }, own)| {
                let fits = feature == own.name;
                let wrong = || format!("expected a guard on {:?}, found one on {feature:?}", own.name);
                fits.then_some(guard).ok_or_else(wrong)
            });
        let guards = guards.collect::<Result<_, String>>()?;
        let mut ms = vec![f64::NAN; self.kernels.len()];
        for (name, time) in &file.ms {
            let time = time.unwrap_or(f64::INFINITY);
            if time < 0.0 {
                return Err(format!("expected times of 0 or more, found {time} for {name:?}"));
            }
            ms[position(name)?] = time;
        }
        let kernel = position(&file.kernel)?;
        if !ms[kernel].is_finite() {
            return Err(format!("the pick {:?} has no time", file.kernel));
        }
        Ok(Pick { guards, kernel, ms: ms.into() })
    }

    /// Returns the name of the file for these kernels, features and this device.
    pub(crate) fn file_name(&self) -> String {
        let head = self.print(&[]);
        let name = file_name(&self.name);
        format!("{name}-{:016x}.json", ah_types::hash::fnv1a(&head))
    }
}

/// Reads a file of picks; `None` if there is no file.
pub(crate) fn read(path: &Path, kernels: &KernelSet) -> Result<Option<Vec<Pick>>, PicksError> {
    let io = |source| PicksError::Io { path: path.to_owned(), action: "read", source };
    let invalid = |reason: String| PicksError::Invalid { path: path.to_owned(), reason };
    // Checked before opening: opening a pipe would wait for its other end.
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(invalid("expected a file".to_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io(e)),
    }
    let mut text = String::new();
    let file = File::open(path).map_err(io)?;
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
    artefact::write_atomic(path, kernels.print(&table.picks()).as_bytes()).map_err(io)
}
