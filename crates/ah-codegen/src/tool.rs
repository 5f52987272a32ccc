//! The whole command `ah-codegen`, as a function.

use std::process::ExitCode;

use ah_cli::{OutputError, detail, error, exit, status, stdout};
use ah_types::{Model, log};

use crate::cli::{Arguments, Extra, RequestArguments};
use crate::{CodegenError, Report, Request, WriteMode, generate};

/// An error that ends the command.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Codegen(#[from] CodegenError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl ah_cli::FatalError for Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Codegen(e) => e.exit_code(),
            Self::Output(e) => e.exit_code(),
        }
    }
}

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let arguments: Arguments = ah_cli::arguments::parse();
    arguments.terminal.apply();
    ah_cli::finish(run(&arguments.request))
}

fn run(arguments: &RequestArguments) -> Result<u8, Failure> {
    let model = Model::read(&arguments.model).map_err(CodegenError::from)?;
    let log = match &arguments.rows[..] {
        [] => None,
        rows => Some(log::read(rows).map_err(CodegenError::from)?),
    };
    let report = generate(&Request {
        model: &model,
        targets: &arguments.target,
        out: &arguments.out,
        into: arguments.into.as_deref(),
        mode: arguments.mode,
        ranked: arguments.with.contains(&Extra::Ranked),
        runtime: arguments.with.contains(&Extra::Runtime).then_some(&arguments.runtime_path),
        license: arguments.license.as_deref(),
        force: arguments.force,
        rows: log.as_ref(),
    })?;
    tell(arguments, &report)
}

/// Prints the report: the diff is data and goes to standard output, everything else to standard error.
/// Returns the exit code.
fn tell(arguments: &RequestArguments, report: &Report) -> Result<u8, Failure> {
    status(&report.to_string());
    detail(&report.changed_files());
    let is_stale = report.mode == WriteMode::Check && !report.is_same();
    if !is_stale {
        return Ok(exit::SUCCESS);
    }
    stdout(&report.diff())?;
    let words: Vec<_> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let mending = words.join(" ").replace("--mode=check", "").replace("--mode check", "");
    let mending: Vec<&str> = mending.split_whitespace().collect();
    error(&format!("{} is stale; run: {}", arguments.out.display(), mending.join(" ")));
    Ok(exit::CHECK_FAILED)
}
