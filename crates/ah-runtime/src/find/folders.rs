//! Models in folders: loaded without recompiling, checked, and replaced when their files change.
//!
//! If a changed file holds no valid model, its previous model stays, with a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ah_types::shown::listed;

use crate::heuristics::{Heuristic, LoadedModel};

/// Our largest model takes about 5 MB.
const MAX_BYTES: u64 = 256 << 20;

static FOLDERS: Mutex<Vec<Folder>> = Mutex::new(Vec::new());

struct Folder {
    /// A folder of models, or one model's file.
    path: PathBuf,
    /// By path, sorted.
    files: BTreeMap<PathBuf, ModelFile>,
}

struct ModelFile {
    stamp: (SystemTime, u64),
    model: Option<Arc<dyn Heuristic>>,
}

/// Returns the models of this optimization: folder by folder, then by file name.
pub(super) fn models(paths: &[PathBuf], optimization: &str) -> Vec<Arc<dyn Heuristic>> {
    let mut known = lock();
    for path in paths {
        if !known.iter().any(|folder| folder.path == *path) {
            let mut folder = Folder { path: path.clone(), files: BTreeMap::new() };
            folder.scan();
            known.push(folder);
        }
    }
    let of = |path: &PathBuf| known.iter().find(|folder| folder.path == *path);
    let models = paths.iter().filter_map(of).flat_map(|folder| folder.files.values());
    let models = models.filter_map(|file| file.model.clone());
    models.filter(|model| model.optimization() == optimization).collect()
}

/// Returns the reason why none of these folders has a model of some optimization: the optimizations that their models
/// decide, and the folders that have none. The folders must have been scanned.
pub(crate) fn decided_in(paths: &[PathBuf]) -> String {
    let known = lock();
    let of = |path: &PathBuf| known.iter().find(|folder| folder.path == *path);
    let of_folder = |folder: &Folder| {
        let models = folder.files.values().filter_map(|file| file.model.as_ref());
        let decided: BTreeSet<&str> = models.map(|model| model.optimization()).collect();
        match (decided.is_empty(), std::fs::metadata(&folder.path)) {
            (false, _) => format!("{} decides {}", folder.path.display(), listed(decided)),
            (true, Err(error)) => format!("{}: {error}", folder.path.display()),
            (true, Ok(_)) => format!("{} has no model (*.json) that can be read", folder.path.display()),
        }
    };
    paths.iter().filter_map(of).map(of_folder).collect::<Vec<_>>().join("; ")
}

/// Scans all folders again; true if anything changed.
pub(super) fn reload() -> bool {
    let mut changed = false;
    for folder in lock().iter_mut() {
        changed |= folder.scan();
    }
    changed
}

impl Folder {
    /// Loads new and changed files and forgets deleted ones; true if anything changed.
    fn scan(&mut self) -> bool {
        let mut here: BTreeMap<PathBuf, (SystemTime, u64)> = BTreeMap::new();
        match std::fs::read_dir(&self.path) {
            Ok(entries) => {
                let files = entries.flatten().map(|entry| entry.path()).filter(|path| is_model(path));
                here.extend(files.filter_map(stamped));
            }
            Err(_) if self.path.is_file() => here.extend(stamped(self.path.clone())),
            // A folder that does not exist yet may be made later.
            Err(error) if self.files.is_empty() => log::debug!("{}: {error}", self.path.display()),
            Err(error) => {
                log::warn!(
                    "{}: cannot read the folder: {error}; its models stay as they are",
                    self.path.display()
                );
                return false;
            }
        }
        let before = self.files.len();
        self.files.retain(|path, _| here.contains_key(path));
        let mut changed = self.files.len() < before;
        for (path, stamp) in here {
            let old = self.files.remove(&path);
            if let Some(same) = old.as_ref().filter(|file| file.stamp == stamp) {
                let model = same.model.clone();
                self.files.insert(path, ModelFile { stamp, model });
                continue;
            }
            let model = match LoadedModel::read(&path) {
                Ok(model) => {
                    log::info!("{}: loaded {} for {}", path.display(), model.name(), model.optimization());
                    changed = true;
                    Some(Arc::new(model) as Arc<dyn Heuristic>)
                }
                Err(error) => {
                    let old = old.and_then(|file| file.model);
                    log::warn!(
                        "{error}; {}",
                        if old.is_some() { "the previous model stays" } else { "ignored" }
                    );
                    old
                }
            };
            self.files.insert(path, ModelFile { stamp, model });
        }
        changed
    }
}

/// Returns whether a file of this name in a folder is a model.
fn is_model(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".json") && !name.starts_with('.')
}

/// Returns the file with its stamp, if its size can be that of a model.
fn stamped(path: PathBuf) -> Option<(PathBuf, (SystemTime, u64))> {
    let metadata = std::fs::metadata(&path).ok()?;
    let fits = metadata.is_file() && metadata.len() <= MAX_BYTES;
    fits.then_some((path, (metadata.modified().ok()?, metadata.len())))
}

fn lock() -> MutexGuard<'static, Vec<Folder>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}
