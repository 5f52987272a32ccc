//! The trait [`Target`]: a language or form of generated code.

use std::fmt::Debug;
use std::path::Path;

use serde::Serialize;

use crate::error::CodegenError;
use crate::files::Files;
use crate::lower::LoweredModel;
use crate::pinned::{PROOFS, PinnedRows};
use crate::printing::names::{Case, single};
use crate::switch::Syntax;

/// A language or form of generated code.
pub trait Target: Debug + Sync {
    /// Returns its name on the command line, which is also the folder of its templates.
    fn name(&self) -> &'static str;

    /// Returns the language of its form `switch`, if it has one.
    #[doc(hidden)]
    fn syntax(&self) -> Option<Syntax> {
        None
    }

    /// Returns the values that its templates print.
    ///
    /// # Errors
    /// [`CodegenError`] if a folder that generated files refer to does not exist.
    #[doc(hidden)]
    fn view(&self, lowered: &LoweredModel<'_>, options: &TargetOptions<'_>) -> Result<View, CodegenError>;
}

/// What a target may need beside the model.
#[derive(Clone, Debug)]
pub struct TargetOptions<'a> {
    /// The folder below which everything is written.
    pub out: &'a Path,
    /// The folder of the crate `ah-runtime`, if generated code may depend on it.
    pub runtime_path: Option<&'a Path>,
    /// The version of the model's file.
    pub version: String,
    /// The rows of a table of decisions, for targets that write one.
    pub rows: Option<PinnedRows>,
}

/// The place of a target's files and the values that its templates print.
#[derive(Debug)]
pub struct View {
    /// The files' place.
    pub place: OutputPlace,
    /// The values that the templates print.
    pub context: tera::Context,
}

/// The place of a target's files, one path component below the output folder.
#[derive(Clone, Debug)]
pub enum OutputPlace {
    /// A folder; every template of the target is a file in it.
    Folder(String),
    /// One file, printed by the template of this name.
    File {
        /// The file's name.
        name: String,
        /// The template, below the target's folder.
        template: &'static str,
    },
    /// A folder of data, whose files have no templates.
    Data {
        /// The folder's name.
        name: String,
        /// The files.
        files: Files,
    },
}

impl OutputPlace {
    /// Returns the path component.
    pub fn name(&self) -> &str {
        match self {
            Self::Folder(name) | Self::File { name, .. } | Self::Data { name, .. } => name,
        }
    }
}

impl View {
    /// Returns the view of a folder with the files of a table and the page of its proofs. `files` come with the rows that each has.
    pub fn table(
        target: &str,
        heuristic: &str,
        rows: &PinnedRows,
        files: Vec<(String, String, Vec<usize>)>,
    ) -> Self {
        let listed: Vec<_> = files.iter().map(|(file, _, rows)| (file.clone(), rows.clone())).collect();
        let mut folder: Files = files.into_iter().map(|(file, text, _)| (file, text)).collect();
        folder.insert(PROOFS.to_owned(), rows.proofs(heuristic, &listed));
        let name = single(heuristic, Case::Snake, "heuristic", "") + "_" + target;
        Self { place: OutputPlace::Data { name, files: folder }, context: tera::Context::new() }
    }

    /// Returns the view at this place.
    pub fn new(place: OutputPlace, values: &impl Serialize) -> Result<Self, CodegenError> {
        let context = tera::Context::from_serialize(values).map_err(|e| CodegenError::template(&e))?;
        Ok(Self { place, context })
    }
}
