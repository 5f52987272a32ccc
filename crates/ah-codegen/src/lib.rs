//! Turns a learned model into source code that a person could have written: plan → print → write.
//!
//! Begin at [`generate`]. `plan.rs` chooses between branches and tables. `body.rs` builds the branches as conditions with early
//! returns, by what each path has decided (`facts.rs`). `expression.rs` prints expressions for every language. Each [`Target`] is
//! one file, with a skeleton in `templates/` and a line in [`TARGETS`]. `write.rs` replaces the files on disk as a whole.
//!
//! Generated code decides as [`Model::decide`](ah_types::Model::decide) does, to the last bit, and declines exactly where it declines; the
//! tests build the code and compare. Names from a model may be hostile: they become code only as identifiers of ASCII letters and
//! digits (`names.rs`) and as escaped strings.
//!
//! ```no_run
//! use std::path::Path;
//! use ah_codegen::{RUST, Request, generate};
//!
//! let model = ah_types::Model::read(Path::new("model.json"))?;
//! let report = generate(&Request::new(&model, &[&RUST], Path::new("generated")))?;
//! println!("{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod body;
mod c;
#[cfg(feature = "cli")]
mod cli;
mod code;
mod error;
mod expression;
mod facts;
mod language;
mod names;
mod page;
mod plan;
mod python;
mod report;
mod rust;
mod skeleton;
mod table;
mod target;
mod text;
#[cfg(feature = "cli")]
pub mod tool;
mod write;

use std::path::Path;

use ah_types::Model;
use ah_types::log::Log;

pub use c::C;
pub use error::CodegenError;
pub use python::{INDUCTOR, PYTHON, PYTORCH, TRITON};
pub use report::{GeneratedFiles, Report};
pub use rust::RUST;
pub use table::TABLE;
pub use target::{Output, Target};
pub use write::{Change, WriteMode};

use plan::Plan;

/// All targets.
pub static TARGETS: [Target; 7] = [RUST, C, PYTHON, PYTORCH, TRITON, INDUCTOR, TABLE];

/// What to generate, and where.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model.
    pub model: &'a Model,
    /// The targets.
    pub targets: &'a [&'a Target],
    /// The folder below which everything is written.
    pub out: &'a Path,
    /// The file that is written instead, as a module of the author's own library.
    pub into: Option<&'a Path>,
    /// Whether to write or to compare.
    pub mode: WriteMode,
    /// Whether the code also ranks choices, and picks among those that a program offers.
    pub ranked: bool,
    /// The folder of the crate `ah-runtime`: the Rust crate gets the feature `runtime`, which implements
    /// `ah_runtime::Heuristic`. It needs the rankings too.
    pub runtime: Option<&'a Path>,
    /// The SPDX name of a license for the first lines.
    pub license: Option<&'a str>,
    /// Whether a target that the model was not learned for is written too.
    pub force: bool,
    /// A log with times of the default and of the choices, for a table of decisions on its inputs.
    pub rows: Option<&'a Log>,
}

impl<'a> Request<'a> {
    /// Requests the files of these targets below `out`, written, without extras.
    pub fn new(model: &'a Model, targets: &'a [&'a Target], out: &'a Path) -> Self {
        let (mode, into, runtime, license, rows) = (WriteMode::Write, None, None, None, None);
        Self { model, targets, out, into, mode, ranked: false, runtime, license, force: false, rows }
    }
}

/// Generates source code from a model.
///
/// # Errors
/// [`CodegenError`]. Each file is then either unchanged or new.
pub fn generate(request: &Request<'_>) -> Result<Report, CodegenError> {
    // A model that was not read from a file is checked here.
    request.model.validate().map_err(CodegenError::Invalid)?;
    if request.into.is_some() && request.targets.len() != 1 {
        return Err(CodegenError::SeveralTargets { count: request.targets.len() });
    }
    let mut report = Report { mode: request.mode, generated: Vec::new() };
    for target in request.targets {
        check_target(request, target)?;
        let plan = Plan {
            model: request.model,
            out: request.out,
            into: request.into,
            ranked: request.ranked || request.runtime.is_some() || target.has_rankings,
            runtime: request.runtime,
            license: request.license,
            rows: request.rows,
            used: plan::used(request.model),
        };
        let output = (target.files)(&plan)?;
        let changes = write::write(&output.place, &output.files, request.mode)?;
        let (target, usage) = (target.name, (target.usage)(&output.place));
        report.generated.push(GeneratedFiles { target, usage, output, changes });
    }
    Ok(report)
}

/// Refuses a target that the model was not learned for. A model without a record is for all of them.
fn check_target(request: &Request<'_>, target: &Target) -> Result<(), CodegenError> {
    let learned = learned_for(request.model);
    let asked = target.name;
    if request.force || learned.is_empty() || learned.iter().any(|name| name == asked) {
        return Ok(());
    }
    Err(CodegenError::OtherTarget { asked: asked.to_owned(), learned: learned.join(", ") })
}

/// Returns the targets that a model was learned for, by its record.
fn learned_for(model: &Model) -> Vec<String> {
    let settings = model.provenance.parameters.get("settings");
    let targets = settings.and_then(|settings| settings.get("target")?.get("value").cloned());
    match targets {
        Some(serde_json::Value::Array(all)) => {
            all.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }
        Some(serde_json::Value::String(all)) => all.split(',').map(|name| name.trim().to_owned()).collect(),
        _ => Vec::new(),
    }
}
