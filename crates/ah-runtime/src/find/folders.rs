//! Models in folders: loaded without recompiling, and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ah_model::shown::listed;

use crate::heuristics::{Heuristic, LoadedModel};
use crate::lock::lock;

/// The models of each path that was asked for: a folder of models, or one model's file. Each path is read once.
static KNOWN: Mutex<BTreeMap<PathBuf, Models>> = Mutex::new(BTreeMap::new());

/// The most files without a model that one line names. The log names all.
const MOST_UNREAD: usize = 3;

/// The models of a folder by file, or why a file is none.
type Models = BTreeMap<PathBuf, Result<Arc<dyn Heuristic>, String>>;

/// The models that some paths have for an optimization, at one moment.
pub(crate) struct InFolders {
    /// Path by path, then by file name.
    pub(crate) models: Vec<Arc<dyn Heuristic>>,
    /// What else the paths have: the optimizations that their models decide, the files that are no models, and the paths without a
    /// file.
    pub(crate) others: String,
}

/// Looks for the models of this optimization.
pub(crate) fn in_folders(paths: &[PathBuf], optimization: &str) -> InFolders {
    let found: Vec<(&PathBuf, Models)> = paths.iter().map(|path| (path, models_of(path))).collect();
    let others = found.iter().map(|(path, models)| {
        let decided: BTreeSet<&str> = models.values().flatten().map(|model| model.optimization()).collect();
        let decides =
            (!decided.is_empty()).then(|| format!("{} decides {}", path.display(), listed(decided)));
        let unread = models.values().filter_map(|model| model.as_ref().err().cloned()).take(MOST_UNREAD);
        let others: Vec<String> = decides.into_iter().chain(unread).collect();
        match std::fs::metadata(path) {
            _ if !others.is_empty() => others.join("; "),
            Err(error) => format!("{}: {error}", path.display()),
            Ok(_) => format!("{} has no model (*.json, *.json.gz) that can be read", path.display()),
        }
    });
    let others = others.collect::<Vec<_>>().join("; ");
    let models = found.into_iter().flat_map(|(_, models)| models.into_values().flatten());
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
                models.insert(path, Ok(Arc::new(model)));
            }
            Err(error) => {
                log::warn!("{error}; ignored");
                models.insert(path, Err(error.to_string()));
            }
        }
    }
    models
}
