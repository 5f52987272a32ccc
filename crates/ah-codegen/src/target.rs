//! The trait `Target`: a language or a program that reads generated files.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use crate::error::CodegenError;
use crate::plan::Plan;

/// Texts by their `/`-separated paths below the target's place. The empty path is the place itself, a file.
pub type Files = BTreeMap<String, String>;

/// A language or a program that reads generated files.
pub trait Target: Debug + Sync {
    /// Returns its name on the command line.
    fn name(&self) -> &'static str;

    /// Returns how a program uses what was written at `place`, in half a sentence.
    fn usage(&self, place: &Path) -> String;

    /// Returns true if rankings are part of its files, whether they are asked for or not.
    #[doc(hidden)]
    fn has_rankings(&self) -> bool {
        false
    }

    /// Returns its files.
    ///
    /// # Errors
    /// [`CodegenError`] if this model has no such files.
    #[doc(hidden)]
    fn files(&self, plan: &Plan<'_>) -> Result<Output, CodegenError>;
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
