//! Models in folders: loaded without recompiling, checked, and swapped while the program runs.
//!
//! A thread looks at the folders every [`PERIOD`], so that no decision ever waits for the disk. A
//! file that has changed into something that is no model is warned of, and the model that it held
//! before stays.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, SystemTime};

use crate::heuristic::Heuristic;
use crate::loaded_model::LoadedModel;
use crate::registry;

/// How long a new model may wait for its use.
const PERIOD: Duration = Duration::from_secs(1);
/// The largest of our models takes some 5 MB.
const MAX_BYTES: u64 = 256 << 20;

static FOLDERS: Mutex<Vec<Folder>> = Mutex::new(Vec::new());

struct Folder {
    path: PathBuf,
    /// By file, in the order of their names.
    files: BTreeMap<PathBuf, ModelFile>,
}

struct ModelFile {
    stamp: (SystemTime, u64),
    model: Option<Arc<dyn Heuristic>>,
}

/// The models for this optimization in these folders, in their order, then by file name.
pub(crate) fn found(folders: &[PathBuf], optimization: &str) -> Vec<Arc<dyn Heuristic>> {
    if folders.is_empty() {
        return Vec::new();
    }
    let mut known = lock();
    for path in folders {
        if !known.iter().any(|folder| folder.path == *path) {
            let mut folder = Folder { path: path.clone(), files: BTreeMap::new() };
            folder.scan();
            known.push(folder);
        }
    }
    start_watching();
    let of = |path: &PathBuf| known.iter().find(|folder| folder.path == *path);
    let models = folders.iter().filter_map(of).flat_map(|folder| folder.files.values());
    let models = models.filter_map(|file| file.model.clone());
    models.filter(|model| model.optimization() == optimization).collect()
}

/// Looks at all folders now. See [`registry::reload`].
pub(crate) fn reload() {
    let mut changed = false;
    for folder in lock().iter_mut() {
        changed |= folder.scan();
    }
    if changed {
        registry::changed();
    }
}

fn start_watching() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let watch = || loop {
            std::thread::sleep(PERIOD);
            reload();
        };
        if let Err(error) = std::thread::Builder::new().name("ah-models".to_owned()).spawn(watch) {
            log::warn!("cannot watch the model folders, so changes wait for `registry::reload`: {error}");
        }
    });
}

impl Folder {
    /// Loads what is new or has changed and forgets what is gone; true where anything differs.
    fn scan(&mut self) -> bool {
        let mut here: BTreeMap<PathBuf, (SystemTime, u64)> = BTreeMap::new();
        match std::fs::read_dir(&self.path) {
            Ok(entries) => here.extend(entries.flatten().filter_map(|entry| model_file(&entry.path()))),
            // One that does not exist yet may come to be.
            Err(error) if self.files.is_empty() => log::debug!("{}: {error}", self.path.display()),
            Err(error) => {
                log::warn!("{}: {error}; its models stay as they are", self.path.display());
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
                        if old.is_some() { "the model before it stays" } else { "ignored" }
                    );
                    old
                }
            };
            self.files.insert(path, ModelFile { stamp, model });
        }
        changed
    }
}

/// The file with its stamp, where it may be a model.
fn model_file(path: &Path) -> Option<(PathBuf, (SystemTime, u64))> {
    let name = path.file_name()?.to_string_lossy();
    let metadata = std::fs::metadata(path).ok()?;
    let is_model = name.ends_with(".json") && !name.starts_with('.');
    let fits = metadata.is_file() && metadata.len() <= MAX_BYTES;
    (is_model && fits).then_some((path.to_owned(), (metadata.modified().ok()?, metadata.len())))
}

fn lock() -> MutexGuard<'static, Vec<Folder>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}
