//! Targets: languages and programs that read generated files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::CodegenError;
use crate::plan::Plan;

/// Texts by their `/`-separated paths below the target's place. The empty path is the place itself, a file.
pub type Files = BTreeMap<String, String>;

/// A language or a program that reads generated files.
#[derive(Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Returns how a program uses what was written at this place, in half a sentence.
    pub(crate) usage: fn(&Path) -> String,
    /// Rankings are part of its files, whether they are asked for or not.
    pub(crate) has_rankings: bool,
    /// Returns its files.
    pub(crate) files: fn(&Plan<'_>) -> Result<Output, CodegenError>,
}

/// The files of a target.
#[derive(Clone, Debug)]
pub struct Output {
    /// The file, or the folder of all files.
    pub place: PathBuf,
    /// The texts by their paths below the folder; a single file has the path "".
    pub files: Files,
    /// The slots of the logged features that a caller gives, with their identifiers.
    pub signature: Vec<(usize, String)>,
}

impl Output {
    /// Returns one file: at the place that was asked for, or of this name below the folder.
    pub fn file(plan: &Plan<'_>, name: &str, text: String, signature: Vec<(usize, String)>) -> Self {
        let place = plan.into.map_or_else(|| plan.out.join(name), Path::to_owned);
        Self { place, signature, files: [(String::new(), text)].into() }
    }
}

/// Returns the last part of a path without its ending.
pub fn stem(place: &Path) -> std::borrow::Cow<'_, str> {
    place.file_stem().unwrap_or_default().to_string_lossy()
}
