//! The environment variables.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ah_model::Device;

use crate::warnings::warn_user;

/// The environment's settings, read once, by the first decision point.
///
/// | variable | meaning |
/// | --- | --- |
/// | `AUTOHEURISTIC_USE` | optimizations that consult, separated by commas; unset: all, unless the program sets a role |
/// | `AUTOHEURISTIC_COLLECT` | optimizations that measure every choice, append to the log and take the fallback |
/// | `AUTOHEURISTIC_LOG_PATH` | the log's file, or a folder of logs; unset or `DEFAULT`: `autoheuristic/DEVICE/NAME.txt` in the user's cache folder, if there is one |
/// | `AUTOHEURISTIC_PATH` | folders of model files, or model files, separated as in `PATH` |
/// | `AUTOHEURISTIC_FORCE_KERNEL` | the number of the kernel that every MultiKernel runs, from 0; for one MultiKernel by its name, `softmax=1` |
/// | `AUTOHEURISTIC_CACHE_DIR` | the folder of the picks of MultiKernels; `off`: they are neither stored nor read; unset: `autoheuristic/picks` in the user's cache folder, if there is one |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Environment {
    /// `AUTOHEURISTIC_USE`; `None` if unset.
    pub consult: Option<Vec<String>>,
    /// `AUTOHEURISTIC_COLLECT`.
    pub collect: Vec<String>,
    /// `AUTOHEURISTIC_LOG_PATH`; `None` if unset or `DEFAULT`.
    pub log_path: Option<PathBuf>,
    /// `AUTOHEURISTIC_PATH`.
    pub model_folders: Vec<PathBuf>,
    /// The user's own cache folder, for logs and picks, which no users share: `XDG_CACHE_HOME` or `~/.cache`, on Windows the local
    /// application data; `None` if the user has none. Without `HOME` the user database has the home folder.
    pub cache_folder: Option<PathBuf>,
    /// `AUTOHEURISTIC_FORCE_KERNEL`: a kernel for one name, or for all names (`None`).
    pub forced_kernels: Vec<(Option<String>, usize)>,
    /// `AUTOHEURISTIC_CACHE_DIR`; `off` is no folder.
    pub picks: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process, as it was at the first call.
    pub fn current() -> &'static Self {
        static CURRENT: OnceLock<Environment> = OnceLock::new();
        CURRENT.get_or_init(|| {
            let environment = Self::read(|name| std::env::var_os(name));
            Self { cache_folder: users_cache_folder(), ..environment }
        })
    }

    /// Reads an environment whose values `variable` returns. It has no [cache folder](Self::cache_folder).
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let list = |name: &str| {
            variable(name).map(|text| {
                let text = text.to_string_lossy();
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                items.map(str::to_owned).collect::<Vec<String>>()
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
            cache_folder: None,
            forced_kernels: forced(&list("AUTOHEURISTIC_FORCE_KERNEL").unwrap_or_default()),
            picks: path("AUTOHEURISTIC_CACHE_DIR"),
        }
    }

    /// The position of the kernel that the MultiKernel of this name must run.
    #[must_use]
    pub fn forced_kernel(&self, name: &str) -> Option<usize> {
        let own = self.forced_kernels.iter().find(|(n, _)| n.as_deref() == Some(name));
        own.or_else(|| self.forced_kernels.iter().find(|(n, _)| n.is_none())).map(|(_, kernel)| *kernel)
    }

    /// The folder of the picks on this device; `None` if there is no folder for them, or if it is `off`.
    #[must_use]
    pub fn picks_folder(&self, device: &Device) -> Option<PathBuf> {
        let folder = self.picks.clone().or_else(|| Some(self.own_folder()?.join("picks")));
        Some(folder.filter(|p| p != Path::new("off"))?.join(file_name(device.name())))
    }

    /// The log of this optimization on this device; `None` if there is no folder for it.
    #[must_use]
    pub fn log_file(&self, optimization: &str, device: &Device) -> Option<PathBuf> {
        let file = format!("{}.txt", file_name(optimization));
        match &self.log_path {
            Some(path) if path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/') => {
                Some(path.join(file))
            }
            Some(path) => Some(path.clone()),
            None => Some(self.own_folder()?.join(file_name(device.name())).join(file)),
        }
    }

    /// Our folder in the user's cache folder.
    fn own_folder(&self) -> Option<PathBuf> {
        Some(self.cache_folder.as_ref()?.join("autoheuristic"))
    }
}

#[cfg(feature = "record")]
fn users_cache_folder() -> Option<PathBuf> {
    use etcetera::{BaseStrategy as _, choose_base_strategy};
    let own = choose_base_strategy().ok().map(|strategy| strategy.cache_dir());
    own.filter(|folder| folder.is_absolute())
}

#[cfg(not(feature = "record"))]
fn users_cache_folder() -> Option<PathBuf> {
    None
}

/// Parses `1`, or `softmax=1,mm=0`.
fn forced(items: &[String]) -> Vec<(Option<String>, usize)> {
    let parse = |item: &String| {
        let (name, kernel) = match item.rsplit_once('=') {
            Some((name, kernel)) => (Some(name.trim().to_owned()), kernel),
            None => (None, item.as_str()),
        };
        let kernel = kernel.trim().parse().ok();
        if kernel.is_none() {
            warn_user(&format!(
                "AUTOHEURISTIC_FORCE_KERNEL: expected KERNEL or NAME=KERNEL, where KERNEL is a number from 0, found {item:?}; ignored"
            ));
        }
        Some((name, kernel?))
    };
    items.iter().filter_map(parse).collect()
}

/// Makes a file name from a name of unknown origin. ASCII letters, digits, `-`, `_` and `.` stay; every other
/// character becomes `_`. The file name never starts with a dot.
pub(crate) fn file_name(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let mut safe: String = name.chars().take(100).map(keep).collect();
    if safe.is_empty() || safe.starts_with('.') {
        safe.insert(0, '_');
    }
    safe
}
