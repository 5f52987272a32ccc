//! Turns a learned model into source code: load → simplify → lower → render → write.
//!
//! Begin at [`generate`]. It reduces a checked [`Model`] to its decisions (`simplify.rs`) and lowers it to
//! a form that is independent of languages (`lower/`). Each [`Target`] turns that form into the values that
//! its templates print (`targets/`, with `printing/`). The templates are rendered (`render.rs`,
//! `templates/`), and the files on disk are replaced as a whole (`write.rs`). The form `switch` has no templates (`switch/`).
//!
//! Generated code decides as the reduced model does, to the last bit; the tests build it and compare. [`simplify`] defines what
//! the reduction may change: nothing for a program that does not list its choices. The form `switch` also leaves out declining.
//! Names from a model may be hostile: they become code only as identifiers of ASCII letters and digits (`printing/names.rs`)
//! and as escaped strings.
//!
//! ```no_run
//! use std::path::Path;
//! use ah_codegen::{Request, Rust, generate};
//!
//! let model = ah_types::Model::read(Path::new("model.json"))?;
//! let report = generate(&Request::new(&model, &[&Rust], Path::new("generated")))?;
//! println!("{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod files;
mod lower;
mod pinned;
mod printing;
mod render;
mod report;
mod simplify;
mod slow_targets;
mod switch;
mod target;
mod targets;
mod write;

use std::path::Path;

use ah_types::Model;
use ah_types::log::Log;

pub use error::CodegenError;
pub use pinned::TableError;
pub use report::{GeneratedFiles, Report};
pub use simplify::{Detail, simplify};
pub use slow_targets::slow_targets;
pub use target::Target;
pub use targets::{Aiter, C, Inductor, Python, Pytorch, Rust, Sglang, TARGETS, Triton, Vllm};
pub use write::{Change, WriteMode};

use files::Files;
use pinned::PinnedRows;
use render::Templates;
use target::TargetOptions;

/// The form of generated code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Form {
    /// A crate, header or module: choices as types, rankings, reasons for declining, the promise
    #[default]
    Module,
    /// One plain function of one tree, as people write by hand: for C, Rust and Python
    Switch,
}

/// What to generate, and where.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model.
    pub model: &'a Model,
    /// The targets.
    pub targets: &'a [&'a dyn Target],
    /// The form of the code.
    pub form: Form,
    /// How much of the model the code holds.
    pub detail: Detail,
    /// The folder below which everything is written.
    pub out: &'a Path,
    /// Whether to write, compare or report.
    pub mode: WriteMode,
    /// A folder of templates that replace the built-in ones or add files, for example
    /// `rust/src/lib.rs.tera`.
    pub templates: Option<&'a Path>,
    /// The folder of the crate `ah-runtime`. With it the Rust crate has the feature `runtime`, which
    /// implements `ah_runtime::Heuristic`; without it the crate can be published on its own.
    pub runtime_path: Option<&'a Path>,
    /// The inputs of a table of decisions, for targets that write one.
    pub rows: Option<TableRows<'a>>,
}

/// The inputs of a table of decisions.
#[derive(Clone, Copy, Debug)]
pub struct TableRows<'a> {
    /// A log with times of the default and of the choices on these inputs.
    pub log: &'a Log,
    /// Columns of the table that the log does not have, with their values.
    pub given: &'a [(String, String)],
}

impl<'a> Request<'a> {
    /// Requests the files of these targets below `out`, written, with the default detail and templates.
    pub fn new(model: &'a Model, targets: &'a [&'a dyn Target], out: &'a Path) -> Self {
        let (form, detail, mode) = (Form::Module, Detail::default(), WriteMode::Write);
        Self { model, targets, form, detail, out, mode, templates: None, runtime_path: None, rows: None }
    }
}

/// Generates source code from a model.
///
/// # Errors
/// [`CodegenError`]. The files of each target are then either unchanged or all new.
pub fn generate(request: &Request<'_>) -> Result<Report, CodegenError> {
    // A model that was not read from a file is checked here.
    request.model.validate().map_err(CodegenError::Invalid)?;
    let templates = Templates::load(request.templates)?;
    let mut model = simplify(request.model, request.detail);
    if request.form == Form::Switch {
        model.tree = switch::merged(&model);
    }
    let lowered = lower::lower(&model, request.form == Form::Module && lower::is_ensemble(request.model));
    lowered.check_size()?;
    let options = TargetOptions {
        out: request.out,
        runtime_path: request.runtime_path,
        // The file's version, not the simplified model's.
        version: request.model.version(),
        rows: request.rows.map(|rows| PinnedRows::new(request.model, rows.log, rows.given)).transpose()?,
    };
    let mut report = Report { mode: request.mode, generated: Vec::new() };
    for target in request.targets {
        let (name, files) = match request.form {
            Form::Module => {
                let view = target.view(&lowered, &options)?;
                (view.place.name().to_owned(), templates.render(target.name(), &view)?)
            }
            Form::Switch => {
                let syntax = target.syntax().ok_or(CodegenError::NoSwitch { target: target.name() })?;
                let (name, source) = switch::source(&lowered, request.model, syntax)?;
                (name, Files::from([(String::new(), source)]))
            }
        };
        let place = request.out.join(name);
        let changes = write::write(&place, &files, request.mode)?;
        report.generated.push(GeneratedFiles { target: target.name(), place, files, changes });
    }
    Ok(report)
}
