//! What a target is: a language or form that a model can be generated as.

use std::fmt::Debug;
use std::path::Path;

use crate::CodegenError;
use crate::files::Files;
use crate::lower::LoweredModel;

/// A language or form that a model can be generated as.
pub trait Target: Debug + Sync {
    /// Its name on the command line, which is also the folder of its templates.
    fn name(&self) -> &'static str;

    /// Returns what its templates print.
    #[doc(hidden)]
    fn view(&self, lowered: &LoweredModel<'_>, surroundings: &Surroundings<'_>)
    -> Result<View, CodegenError>;

    /// Changes its files once they are rendered.
    #[doc(hidden)]
    fn finish(&self, _files: &mut Files) {}
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
    /// The folder or file below the output folder: one component.
    pub place: String,
    /// The values that the templates print.
    pub context: tera::Context,
    /// Paths of templates that this model does not need.
    pub left_out: Vec<&'static str>,
    /// The only template of a target that is one file, which is then the place itself. Without it
    /// the place is a folder.
    pub file: Option<&'static str>,
}
