//! The environment variables, read once.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `AUTOHEURISTIC_USE` | the optimizations that consult, separated by commas; unset: what the program says (by default all) |
//! | `AUTOHEURISTIC_COLLECT` | the optimizations that measure every choice, append to the log and take the fallback |
//! | `AUTOHEURISTIC_LOG_PATH` | the log's file, or a folder of logs; unset or `DEFAULT`: the user's cache folder, then device, then name |
//! | `AUTOHEURISTIC_PATH` | folders of model files, separated as in `PATH` |

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ah_types::Device;

/// What the environment says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `AUTOHEURISTIC_USE`; `None` where unset.
    pub consult: Option<Vec<String>>,
    /// `AUTOHEURISTIC_COLLECT`.
    pub collect: Vec<String>,
    /// `AUTOHEURISTIC_LOG_PATH`; `None` where unset or `DEFAULT`.
    pub log_path: Option<PathBuf>,
    /// `AUTOHEURISTIC_PATH`.
    pub model_folders: Vec<PathBuf>,
    /// The user's cache folder.
    pub cache_folder: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process, as it was at the first call.
    pub fn current() -> &'static Self {
        static CURRENT: OnceLock<Environment> = OnceLock::new();
        CURRENT.get_or_init(|| Self::read(|name| std::env::var_os(name)))
    }

    /// The environment in which `variable` gives the values.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let list = |name: &str| {
            variable(name).map(|text| {
                let text = text.to_string_lossy();
                text.split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned).collect()
            })
        };
        let path = |name: &str| variable(name).filter(|p| !p.is_empty()).map(PathBuf::from);
        Self {
            consult: list("AUTOHEURISTIC_USE"),
            collect: list("AUTOHEURISTIC_COLLECT").unwrap_or_default(),
            log_path: path("AUTOHEURISTIC_LOG_PATH").filter(|p| p != Path::new("DEFAULT")),
            model_folders: variable("AUTOHEURISTIC_PATH")
                .map(|paths| std::env::split_paths(&paths).filter(|p| !p.as_os_str().is_empty()).collect())
                .unwrap_or_default(),
            cache_folder: path("XDG_CACHE_HOME")
                .or_else(|| path("LOCALAPPDATA"))
                .or_else(|| path("HOME").map(|home| home.join(".cache"))),
        }
    }

    /// Where the log of this optimization on this device is.
    #[must_use]
    pub fn log_file(&self, optimization: &str, device: &Device) -> PathBuf {
        let file = format!("{}.txt", file_name(optimization));
        match &self.log_path {
            Some(path) if path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/') => {
                path.join(file)
            }
            Some(path) => path.clone(),
            None => self.own_folder().join(file_name(device.name())).join(file),
        }
    }

    /// Our folder below the user's cache folder (or the system's temporary one).
    #[must_use]
    pub fn own_folder(&self) -> PathBuf {
        self.cache_folder.clone().unwrap_or_else(std::env::temp_dir).join("autoheuristic")
    }
}

/// A file's name made from a name that comes from outside: letters, digits, `-`, `_`, `.` stay,
/// all else becomes `_`, and it never starts with a dot.
pub(crate) fn file_name(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let mut safe: String = name.chars().take(100).map(keep).collect();
    if safe.is_empty() || safe.starts_with('.') {
        safe.insert(0, '_');
    }
    safe
}
