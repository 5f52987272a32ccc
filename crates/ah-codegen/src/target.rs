//! Generators, one for each target with files of its own; and what is asked of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ah_model::{Error, Model, Target};

/// Generates the files of a target.
#[derive(Debug)]
pub struct Generator {
    /// The target.
    pub target: Target,
    /// How a program uses what was written at this place, in half a sentence; functions of C begin with the heuristic's
    /// identifier.
    pub(crate) usage: fn(&Path, &str) -> String,
    /// The endings that the one file of `--into` may have.
    pub(crate) endings: &'static [&'static str],
    /// Its files.
    pub(crate) files: fn(&Request<'_>) -> Result<Output, Error>,
}

impl Generator {
    /// Whether the name of a file has the ending of this target's one.
    pub(crate) fn writes(&self, path: &Path) -> bool {
        let ending = path.extension().unwrap_or_default();
        self.endings.iter().any(|expected| ending == *expected)
    }
}

/// What to generate, and where.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model.
    pub model: &'a Model,
    /// The targets.
    pub targets: &'a [&'a Generator],
    /// The folder below which everything is written.
    pub out: &'a Path,
    /// The file that is written instead, as a module of the author's own library.
    pub into: Option<&'a Path>,
    /// Whether to write or to compare.
    pub mode: WriteMode,
    /// Whether the code also ranks choices, and picks among those that a program offers.
    pub ranked: bool,
    /// The path of the crate `ah-runtime`, as the `Cargo.toml` of the Rust crate has it: that crate gets the feature `runtime`,
    /// which implements `ah_runtime::Heuristic`. It needs the rankings too.
    pub runtime: Option<&'a Path>,
    /// The SPDX name of a license for the first lines.
    pub license: Option<&'a str>,
    /// Whether a target that the model was not learned for is written too.
    pub force: bool,
}

impl<'a> Request<'a> {
    /// Requests the files of these targets below `out`, written, without extras.
    pub fn new(model: &'a Model, targets: &'a [&'a Generator], out: &'a Path) -> Self {
        Self {
            model,
            targets,
            out,
            into: None,
            mode: WriteMode::Write,
            ranked: false,
            runtime: None,
            license: None,
            force: false,
        }
    }
}

/// Whether to write or to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum WriteMode {
    /// Writes the files that differ.
    Write,
    /// Writes nothing; compares with the disk.
    Check,
}

/// The files of a target.
#[derive(Clone, Debug)]
pub struct Output {
    /// The file, or the folder of all files.
    pub place: PathBuf,
    /// The texts by their `/`-separated paths below the folder; a single file has the path "". One without text is removed: it was
    /// generated from another model.
    pub files: BTreeMap<String, String>,
    /// The slots of the logged features that a caller gives, with their identifiers.
    pub signature: Vec<(usize, String)>,
    /// What the program that reads the files will not do, in a sentence.
    pub warning: Option<String>,
}

impl Output {
    /// One file: at the place that was asked for, or of this name below the folder.
    pub fn file(request: &Request<'_>, name: &str, text: String, signature: Vec<(usize, String)>) -> Self {
        let place = request.into.map_or_else(|| request.out.join(name), Path::to_owned);
        Self { place, signature, files: [(String::new(), text)].into(), warning: None }
    }
}

/// The last part of a path without its ending: the module's name. `mod.rs` and `__init__.py` have their folder's.
pub fn stem(place: &Path) -> std::borrow::Cow<'_, str> {
    let stem = place.file_stem().unwrap_or_default();
    let folder = place.parent().and_then(Path::file_name).filter(|_| stem == "mod" || stem == "__init__");
    folder.unwrap_or(stem).to_string_lossy()
}
