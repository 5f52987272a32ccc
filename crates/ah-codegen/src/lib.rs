//! Turns a learned model into source code.
//!
//! [`generate`] is the whole way: a checked [`Model`] is lowered to a plan that knows no language
//! (`lower/`: which features are needed where, each tree as branches or a table), a
//! [`Target`] turns the plan into what its templates print (`targets/`, `templates/`), and the
//! files are written beside their place and swapped in as a whole (`write.rs`).
//!
//! What is generated means exactly what [`Model::decide`] says, to the last bit; the tests build it
//! and compare. Names from the model are hostile until proved otherwise: they become code only as
//! identifiers made of ASCII letters and digits (`names.rs`) and as escaped strings (`text.rs`).
//!
//! ```no_run
//! use std::path::Path;
//! use ah_codegen::{Mode, Request, Target, generate};
//!
//! let model = ah_types::Model::read(Path::new("model.json"))?;
//! let report = generate(&Request {
//!     model: &model,
//!     targets: &[Target::Rust],
//!     out: Path::new("generated"),
//!     mode: Mode::Write,
//!     templates: None,
//!     runtime_path: None,
//! })?;
//! println!("{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod lower;
mod names;
mod render;
mod report;
mod targets;
mod text;
mod write;

use std::path::Path;

use ah_types::Model;

pub use error::CodegenError;
pub use report::{Generated, Report};
pub use targets::Target;
pub use write::Change;

/// What to do with what was generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Write it; files that are the same are left alone.
    Write,
    /// Write nothing and compare with what is there.
    Check,
    /// Write nothing and say what would be written.
    DryRun,
}

/// What to generate from what, and where to.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model.
    pub model: &'a Model,
    /// The targets.
    pub targets: &'a [Target],
    /// The folder below which everything lands.
    pub out: &'a Path,
    /// Write, check or tell.
    pub mode: Mode,
    /// A folder with templates that replace or join the built-in ones: `rust/src/lib.rs.tera`, say.
    pub templates: Option<&'a Path>,
    /// The folder of the crate `ah-runtime`: where given, the Rust crate gets the feature `runtime`
    /// that implements its trait. Without it the crate stays publishable on its own.
    pub runtime_path: Option<&'a Path>,
}

/// Generates source code from a model.
///
/// # Errors
/// [`CodegenError`]; each target's files are then as they were before or all new.
pub fn generate(request: &Request<'_>) -> Result<Report, CodegenError> {
    // The generator trusts nothing: a model that was not read from a file is checked here.
    request.model.validate().map_err(CodegenError::Invalid)?;
    let templates = render::Templates::new(request.templates)?;
    let mut report = Report { mode: request.mode, generated: Vec::new() };
    for &target in request.targets {
        let view = target.view(request.model, request.out, request.runtime_path)?;
        let mut files = templates.render(target, &view)?;
        targets::finish(target, &mut files);
        let place = request.out.join(&view.place);
        let changes = write::compare(&place, &files)?;
        if request.mode == Mode::Write && changes.iter().any(|(_, change)| *change != Change::Same) {
            write::replace(&place, &files)?;
        }
        report.generated.push(Generated { target, place, files, changes });
    }
    Ok(report)
}
