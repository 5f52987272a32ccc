//! Models in folders: loaded without recompiling, checked, and read again on request.
//!
//! If a changed file holds no valid model, its previous model stays, with a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ah_model::shown::listed;

use super::registry;
use crate::heuristics::{Heuristic, LoadedModel};
use crate::lock::lock;

static FOLDERS: Mutex<Folders> = Mutex::new(Folders { by_path: BTreeMap::new(), reloads: 0 });

/// All models that were read.
struct Folders {
    /// The models of each path that was asked for: a folder of models, or one model's file.
    by_path: BTreeMap<PathBuf, Models>,
    /// The number of reloads that have begun.
    reloads: u64,
}

/// The models of a folder, by file.
type Models = BTreeMap<PathBuf, Arc<dyn Heuristic>>;

/// The models that some paths have for an optimization, at one moment.
pub(crate) struct InFolders {
    /// Path by path, then by file name.
    pub(crate) models: Vec<Arc<dyn Heuristic>>,
    /// What else the paths have: the optimizations that their models decide, and the paths without a model.
    pub(crate) others: String,
}

/// Looks for the models of this optimization.
pub(crate) fn in_folders(paths: &[PathBuf], optimization: &str) -> InFolders {
    paths.iter().for_each(|path| read_once(path));
    let found: Vec<(&PathBuf, Models)> = {
        let known = lock(&FOLDERS);
        paths.iter().filter_map(|path| Some((path, known.by_path.get(path)?.clone()))).collect()
    };
    let others = found.iter().map(|(path, models)| {
        let decided: BTreeSet<&str> = models.values().map(|model| model.optimization()).collect();
        match (decided.is_empty(), std::fs::metadata(path)) {
            (false, _) => format!("{} decides {}", path.display(), listed(decided)),
            (true, Err(error)) => format!("{}: {error}", path.display()),
            (true, Ok(_)) => format!("{} has no model (*.json, *.json.gz) that can be read", path.display()),
        }
    });
    let others = others.collect::<Vec<_>>().join("; ");
    let models = found.into_iter().flat_map(|(_, models)| models.into_values());
    InFolders { models: models.filter(|model| model.optimization() == optimization).collect(), others }
}

/// Reads the models of a path that was not asked for before.
fn read_once(path: &Path) {
    loop {
        let reloads = {
            let known = lock(&FOLDERS);
            if known.by_path.contains_key(path) {
                return;
            }
            known.reloads
        };
        // No lock is held while the disk is read and a logger is called.
        let models = read(path, Models::new());
        let mut known = lock(&FOLDERS);
        // A reload that began meanwhile did not know of this path. Its caller may have replaced files after they were read here, so they
        // are read again.
        if known.reloads == reloads {
            known.by_path.entry(path.to_owned()).or_insert(models);
            return;
        }
    }
}

/// Reads the folders of `AUTOHEURISTIC_PATH` again. Decision points use what is there from their next decision on.
pub fn reload_models() {
    // Of two threads that reload, the later one finds what the earlier one has read.
    static RELOADING: Mutex<()> = Mutex::new(());
    let _reloading = lock(&RELOADING);
    let known = {
        let mut known = lock(&FOLDERS);
        known.reloads += 1;
        known.by_path.clone()
    };
    for (path, models) in known {
        let models = read(&path, models);
        lock(&FOLDERS).by_path.insert(path, models);
    }
    registry::advance();
}

/// Returns the models of a folder. A file that holds no valid model keeps its old one, and so does a folder that cannot be read.
fn read(folder: &Path, mut old: Models) -> Models {
    let is_model = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.ends_with(".json") || name.ends_with(".json.gz")) && !name.starts_with('.') && path.is_file()
    };
    let files: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).filter(is_model).collect(),
        Err(_) if folder.is_file() => vec![folder.to_owned()],
        Err(error) => {
            // A folder that does not exist yet may be made later.
            let level = if old.is_empty() { log::Level::Debug } else { log::Level::Warn };
            log::log!(
                level,
                "{}: cannot read the folder: {error}; its models stay as they are",
                folder.display()
            );
            return old;
        }
    };
    let mut models = Models::new();
    for path in files {
        match LoadedModel::read(&path) {
            Ok(model) => {
                log::info!("{}: loaded {} for {}", path.display(), model.name(), model.optimization());
                models.insert(path, Arc::new(model));
            }
            Err(error) => {
                let old = old.remove(&path);
                log::warn!("{error}; {}", if old.is_some() { "the previous model stays" } else { "ignored" });
                models.extend(old.map(|old| (path, old)));
            }
        }
    }
    models
}
