//! Reloads the models in folders: a thread looks for changed files every [`PERIOD`], so no decision waits for the disk.

use std::path::PathBuf;
use std::sync::{Arc, Once};
use std::time::Duration;

use super::{folders, registry};
use crate::heuristics::Heuristic;

/// A changed model file is in use after at most this time.
const PERIOD: Duration = Duration::from_secs(1);

/// Returns the models of this optimization: folder by folder, then by file name. Reloads the folders from now on.
pub(crate) fn in_folders(paths: &[PathBuf], optimization: &str) -> Vec<Arc<dyn Heuristic>> {
    if paths.is_empty() {
        return Vec::new();
    }
    let models = folders::models(paths, optimization);
    start_reloading();
    models
}

/// Reads changed files in the folders of `AUTOHEURISTIC_PATH` now, instead of within the next second.
pub fn reload_models() {
    if folders::reload() {
        registry::advance();
    }
}

fn start_reloading() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let reload = || loop {
            std::thread::sleep(PERIOD);
            reload_models();
        };
        if let Err(error) = std::thread::Builder::new().name("ah-models".to_owned()).spawn(reload) {
            log::warn!(
                "changed model files are not noticed: {error}; call `ah_runtime::reload_models` after a change"
            );
        }
    });
}
