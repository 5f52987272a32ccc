//! Models in folders: loaded without recompiling, checked, and read again on request.
//!
//! If a changed file holds no valid model, its previous model stays, with a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ah_measure::lock;
use ah_model::shown::listed;

use super::registry;
use crate::heuristics::{Heuristic, LoadedModel};

/// The models of each path that was asked for: a folder of models, or one model's file.
static FOLDERS: Mutex<BTreeMap<PathBuf, Models>> = Mutex::new(BTreeMap::new());

/// The models of a folder, by file.
type Models = BTreeMap<PathBuf, Arc<dyn Heuristic>>;

/// Returns the models of this optimization: folder by folder, then by file name.
pub(crate) fn in_folders(paths: &[PathBuf], optimization: &str) -> Vec<Arc<dyn Heuristic>> {
    let mut known = lock(&FOLDERS);
    for path in paths {
        known.entry(path.clone()).or_insert_with(|| read(path, Models::new()));
    }
    let models = paths.iter().flat_map(|path| known[path].values());
    models.filter(|model| model.optimization() == optimization).cloned().collect()
}

/// Returns the reason why none of these folders has a model of some optimization: the optimizations that their models
/// decide, and the folders that have none. The folders must have been scanned.
pub(crate) fn decided_in(paths: &[PathBuf]) -> String {
    let known = lock(&FOLDERS);
    let of_folder = |path: &PathBuf| {
        let decided: BTreeSet<&str> = known.get(path)?.values().map(|model| model.optimization()).collect();
        Some(match (decided.is_empty(), std::fs::metadata(path)) {
            (false, _) => format!("{} decides {}", path.display(), listed(decided)),
            (true, Err(error)) => format!("{}: {error}", path.display()),
            (true, Ok(_)) => format!("{} has no model (*.json, *.json.gz) that can be read", path.display()),
        })
    };
    paths.iter().filter_map(of_folder).collect::<Vec<_>>().join("; ")
}

/// Reads the folders of `AUTOHEURISTIC_PATH` again. Decision points use what is there from their next decision on.
pub fn reload_models() {
    lock(&FOLDERS).iter_mut().for_each(|(path, models)| *models = read(path, std::mem::take(models)));
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
