//! Models in folders: loaded without recompiling, and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ah_model::shown::listed;

use crate::heuristics::{Heuristic, LoadedModel};
use crate::lock::lock;

/// The models of each path that was asked for: a folder of models, or one model's file. Each path is read once.
static KNOWN: Mutex<BTreeMap<PathBuf, Models>> = Mutex::new(BTreeMap::new());

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
    let found: Vec<(&PathBuf, Models)> = paths.iter().map(|path| (path, models_of(path))).collect();
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

/// The models of a path, which is read if it was not asked for before.
fn models_of(path: &Path) -> Models {
    if let Some(models) = lock(&KNOWN).get(path) {
        return models.clone();
    }
    // No lock is held while the disk is read and a logger is called.
    let models = read(path);
    lock(&KNOWN).entry(path.to_owned()).or_insert(models).clone()
}

/// Reads the models of a folder, or of one file.
fn read(folder: &Path) -> Models {
    let is_model = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.ends_with(".json") || name.ends_with(".json.gz")) && !name.starts_with('.') && path.is_file()
    };
    let files: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).filter(is_model).collect(),
        Err(_) if folder.is_file() => vec![folder.to_owned()],
        Err(_) => Vec::new(),
    };
    let mut models = Models::new();
    for path in files {
        match LoadedModel::read(&path) {
            Ok(model) => {
                log::info!("{}: loaded {} for {}", path.display(), model.name(), model.optimization());
                models.insert(path, Arc::new(model));
            }
            Err(error) => log::warn!("{error}; ignored"),
        }
    }
    models
}
