//! What a target is: a language or form that a model can be generated as.

use std::fmt::Debug;
use std::path::Path;

use serde::Serialize;

use crate::error::CodegenError;
use crate::lower::LoweredModel;

/// A language or form that a model can be generated as.
pub trait Target: Debug + Sync {
    /// Its name on the command line, which is also the folder of its templates.
    fn name(&self) -> &'static str;

    /// Returns what its templates print.
    ///
    /// # Errors
    /// [`CodegenError`] where a folder that generated files name does not exist.
    #[doc(hidden)]
    fn view(&self, lowered: &LoweredModel<'_>, surroundings: &Surroundings<'_>)
    -> Result<View, CodegenError>;
}

/// Folders that generated files may name.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The folder below which everything is written.
    pub out: &'a Path,
    /// The folder of the crate `ah-runtime`, where generated code may depend on it.
    pub runtime_path: Option<&'a Path>,
}

/// Where a target's files go and what its templates print.
#[derive(Debug)]
pub struct View {
    /// The files' place.
    pub place: Place,
    /// The values that the templates print.
    pub context: tera::Context,
}

/// The place of a target's files, one path component below the output folder.
#[derive(Clone, Debug)]
pub enum Place {
    /// A folder; every template of the target is a file in it.
    Folder(String),
    /// One file, printed by the template of this name.
    File {
        /// The file's name.
        name: String,
        /// The template, below the target's folder.
        template: &'static str,
    },
}

impl Place {
    /// The path component.
    pub fn name(&self) -> &str {
        match self {
            Self::Folder(name) | Self::File { name, .. } => name,
        }
    }
}

impl View {
    /// The view at this place.
    pub fn new(place: Place, values: &impl Serialize) -> Result<Self, CodegenError> {
        let context = tera::Context::from_serialize(values).map_err(|e| CodegenError::template(&e))?;
        Ok(Self { place, context })
    }
}
