//! The whole command `ah-codegen`, as a function.

use std::process::ExitCode;

use ah_cli::{detail, error, exit, status, stdout, warning};
use ah_model::{Error, Model};
use clap::CommandFactory as _;

use crate::cli::{Arguments, Extra};
use crate::{Request, WriteMode, generate, targets_of};

/// The flags, for completions and man pages.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let arguments: Arguments = ah_cli::arguments::parse();
    arguments.terminal.apply();
    ah_cli::finish(run(&arguments))
}

/// Prints the report: the diff is data and goes to standard output, everything else to standard error. Returns the exit code.
fn run(arguments: &Arguments) -> Result<u8, Error> {
    let model = Model::read(&arguments.model)?;
    let learned = targets_of(&model, arguments.into.as_deref());
    let targets = if arguments.target.is_empty() { &learned } else { &arguments.target };
    let report = generate(&Request {
        model: &model,
        targets,
        out: &arguments.out,
        into: arguments.into.as_deref(),
        mode: arguments.mode,
        ranked: arguments.with.contains(&Extra::Ranked),
        runtime: arguments.with.contains(&Extra::Runtime).then_some(&arguments.runtime_path),
        license: arguments.license.as_deref(),
        force: arguments.force,
    })?;
    status(&report.to_string());
    detail(&report.changed_files());
    report.warnings().for_each(warning);
    if report.mode == WriteMode::Write || report.is_same() {
        return Ok(exit::SUCCESS);
    }
    stdout(&report.diff())?;
    let command = ah_cli::arguments::command_without(&[&["--mode=check"], &["--mode", "check"]]);
    let place = arguments.into.as_ref().unwrap_or(&arguments.out);
    error(&format!("{} is stale; run: {command}", place.display()));
    Ok(exit::CHECK_FAILED)
}
