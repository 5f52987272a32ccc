//! Turns a learned model into source code that a person could have written: plan → print → write.
//!
//! Begin at [`generate`]. `plan.rs` chooses between branches and tables. `body.rs` builds the branches as conditions with early
//! returns, by what each path has decided (`facts/`). `expression.rs` prints expressions for every language. Each [`Generator`] is
//! one file, with a skeleton in `templates/` and a line in [`GENERATORS`]. `write.rs` replaces each file on disk as a whole.
//!
//! Generated code decides as [`Model::decide`](ah_model::Model::decide) does, to the last bit, and declines exactly where it declines; the
//! tests build the code and compare. Names from a model may be hostile: they become code only as identifiers of ASCII letters and
//! digits (`names.rs`) and as escaped strings.
//!
//! ```no_run
//! use std::path::Path;
//! use ah_codegen::{RUST, Request, generate};
//!
//! let model = ah_model::Model::read(Path::new("model.json"))?;
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
mod costs;
mod domain;
mod expression;
mod facts;
mod go;
mod language;
mod names;
mod page;
mod plan;
mod python;
mod rust;
mod skeleton;
mod target;
mod text;
#[cfg(feature = "cli")]
pub mod tool;
mod write;

use std::path::Path;

use ah_model::Model;

pub use ah_model::Error;
pub use c::C;
pub use go::GO;
pub use python::{INDUCTOR, PYTHON, PYTORCH, TRITON};
pub use rust::RUST;
pub use target::{Generator, Output, Request, WriteMode};
pub use write::{GeneratedFiles, Report, difference};

/// All targets.
pub static GENERATORS: [Generator; 7] = [RUST, C, GO, PYTHON, PYTORCH, TRITON, INDUCTOR];

/// Generates source code from a model.
///
/// # Errors
/// [`Error`]. Each file is then either unchanged or new.
pub fn generate(request: &Request<'_>) -> Result<Report, Error> {
    // A model that was not read from a file is checked here.
    request.model.validate()?;
    check_into(request.into, request.targets)?;
    let learned = &request.model.purpose.targets;
    let is_unfit = |generator: &&&Generator| !learned.is_empty() && !learned.contains(&generator.target);
    // Before the first file is written.
    if let Some(generator) = request.targets.iter().find(is_unfit).filter(|_| !request.force) {
        let name = generator.target.name();
        let learned = learned.iter().map(|target| target.name()).collect::<Vec<_>>().join(", ");
        return Err(Error::Invalid(format!(
            "the target {name}: the model was learned for {learned}, where a decision has another price; learn it with \
             `ah-train --target {name}`, or force the code"
        )));
    }
    let mut report = Report { mode: request.mode, generated: Vec::new() };
    for generator in request.targets {
        let target = generator.target;
        let ranked = request.ranked || request.runtime.is_some() || target.names_choices();
        let output = (generator.files)(&Request { ranked, ..*request })?;
        let usage = (generator.usage)(&output.place, &names::package(request.model));
        report.generated.push(GeneratedFiles::write(target.name(), usage, output, request.mode)?);
    }
    Ok(report)
}

/// Checks that the file of `--into`, if there is one, can be what these targets write. Needs no model.
///
/// # Errors
/// There are several targets, the file has the ending of another language, or somebody else wrote it.
pub fn check_into(into: Option<&Path>, targets: &[&Generator]) -> Result<(), Error> {
    match (into, targets) {
        (None, _) => Ok(()),
        (Some(path), [target]) if target.writes(path) => ah_cli::keep_foreign("into", path, write::MARK),
        (Some(path), [target]) => {
            let endings = target.endings.join(" or .");
            let expected = format!("a file of the target {}, which ends in .{endings}", target.target.name());
            Err(Error::parameter("into", expected, path.display()))
        }
        (Some(_), all) => Err(Error::parameter("into", "one target, as it is one file", all.len())),
    }
}

/// The names of the features that a caller of this code gives; `None` if the code cannot be written.
pub fn given<'m>(model: &'m Model, generator: &Generator) -> Option<Vec<&'m str>> {
    let output = (generator.files)(&Request::new(model, &[], Path::new(""))).ok()?;
    let name = |(slot, _): (usize, String)| model.features.base().features()[slot].name.as_str();
    Some(output.signature.into_iter().map(name).collect())
}

/// The targets that a model was learned for, of those that write a file with the ending of `into` if there is one; else
/// [`RUST`].
pub fn targets_of(model: &Model, into: Option<&Path>) -> Vec<&'static Generator> {
    let of_model = GENERATORS.iter().filter(|generator| model.purpose.targets.contains(&generator.target));
    let targets: Vec<&Generator> =
        of_model.filter(|target| into.is_none_or(|path| target.writes(path))).collect();
    if targets.is_empty() { vec![&RUST] } else { targets }
}
