//! Models in folders: loaded without recompiling, checked, and read again on request.
//!
//! If a changed file holds no valid model, its previous model stays, with a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use ah_types::shown::listed;

use super::registry;
use crate::heuristics::{Heuristic, LoadedModel};
use crate::sync::lock as locked;

/// Our largest model takes about 5 MB.
const MAX_BYTES: u64 = 256 << 20;

/// The files of each path that was asked for: a folder of models, or one model's file.
static FOLDERS: Mutex<BTreeMap<PathBuf, Files>> = Mutex::new(BTreeMap::new());

/// The model files of a folder, by path.
type Files = BTreeMap<PathBuf, ModelFile>;

/// A file's time of change and length.
type Stamp = (SystemTime, u64);

struct ModelFile {
    stamp: Stamp,
    model: Option<Arc<dyn Heuristic>>,
}

/// Returns the models of this optimization: folder by folder, then by file name.
pub(crate) fn in_folders(paths: &[PathBuf], optimization: &str) -> Vec<Arc<dyn Heuristic>> {
    let mut known = lock();
    for path in paths {
        if !known.contains_key(path) {
            let mut files = Files::new();
            scan(path, &mut files);
            known.insert(path.clone(), files);
        }
    }
    let models = paths.iter().flat_map(|path| known[path].values()).filter_map(|file| file.model.clone());
    models.filter(|model| model.optimization() == optimization).collect()
}

/// Returns the reason why none of these folders has a model of some optimization: the optimizations that their models
/// decide, and the folders that have none. The folders must have been scanned.
pub(crate) fn decided_in(paths: &[PathBuf]) -> String {
    let known = lock();
    let of_folder = |path: &PathBuf| {
        let models = known.get(path)?.values().filter_map(|file| file.model.as_ref());
        let decided: BTreeSet<&str> = models.map(|model| model.optimization()).collect();
        Some(match (decided.is_empty(), std::fs::metadata(path)) {
            (false, _) => format!("{} decides {}", path.display(), listed(decided)),
            (true, Err(error)) => format!("{}: {error}", path.display()),
            (true, Ok(_)) => format!("{} has no model (*.json, *.json.gz) that can be read", path.display()),
        })
    };
    paths.iter().filter_map(of_folder).collect::<Vec<_>>().join("; ")
}

/// Reads new and changed files in the folders of `AUTOHEURISTIC_PATH`, and forgets deleted ones. Decision points use them from
/// their next decision on.
pub fn reload_models() {
    if lock().iter_mut().fold(false, |changed, (path, files)| scan(path, files) | changed) {
        registry::advance();
    }
}

/// Loads new and changed files and forgets deleted ones; true if anything changed.
fn scan(folder: &Path, files: &mut Files) -> bool {
    let mut here: BTreeMap<PathBuf, Stamp> = BTreeMap::new();
    match std::fs::read_dir(folder) {
        Ok(entries) => {
            let paths = entries.flatten().map(|entry| entry.path()).filter(|path| is_model(path));
            here.extend(paths.filter_map(stamped));
        }
        Err(_) if folder.is_file() => here.extend(stamped(folder.to_owned())),
        // A folder that does not exist yet may be made later.
        Err(error) if files.is_empty() => log::debug!("{}: {error}", folder.display()),
        Err(error) => {
            log::warn!("{}: cannot read the folder: {error}; its models stay as they are", folder.display());
            return false;
        }
    }
    let before = files.len();
    files.retain(|path, _| here.contains_key(path));
    let mut changed = files.len() < before;
    for (path, stamp) in here {
        if files.get(&path).is_some_and(|file| file.stamp == stamp) {
            continue;
        }
        let model = match LoadedModel::read(&path) {
            Ok(model) => {
                log::info!("{}: loaded {} for {}", path.display(), model.name(), model.optimization());
                changed = true;
                Some(Arc::new(model) as Arc<dyn Heuristic>)
            }
            Err(error) => {
                let old = files.remove(&path).and_then(|file| file.model);
                log::warn!("{error}; {}", if old.is_some() { "the previous model stays" } else { "ignored" });
                old
            }
        };
        files.insert(path, ModelFile { stamp, model });
    }
    changed
}

/// Returns whether a file of this name in a folder is a model.
fn is_model(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    (name.ends_with(".json") || name.ends_with(".json.gz")) && !name.starts_with('.')
}

/// Returns the file with its stamp, if its size can be that of a model.
fn stamped(path: PathBuf) -> Option<(PathBuf, Stamp)> {
    let metadata = std::fs::metadata(&path).ok()?;
    let fits = metadata.is_file() && metadata.len() <= MAX_BYTES;
    fits.then_some((path, (metadata.modified().ok()?, metadata.len())))
}

fn lock() -> MutexGuard<'static, BTreeMap<PathBuf, Files>> {
    locked(&FOLDERS)
}
