//! `ah-codegen MODEL`: load → lower → render → write.

mod cli;

use std::process::ExitCode;

use ah_cli::{OutputError, detail, error, exit, status, stdout, warning};
use ah_codegen::{CodegenError, Detail, Report, Request, TableRows, WriteMode, generate, slow_targets};
use ah_types::{Model, log};
use cli::{Arguments, RequestArguments};

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

fn main() -> ExitCode {
    let arguments: Arguments = ah_cli::arguments::parse();
    arguments.terminal.apply();
    ah_cli::finish(match (&arguments.command, &arguments.request) {
        (Some(command), _) => command.print::<Arguments>().map(|()| exit::SUCCESS).map_err(Failure::from),
        (None, Some(request)) => run(request),
        // clap requires a model or a subcommand.
        (None, None) => Ok(exit::USAGE),
    })
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
        form: arguments.form,
        out: &arguments.out,
        detail: Detail { all_leaves: arguments.all_leaves, max_ranked: arguments.max_ranked },
        mode: arguments.mode,
        templates: arguments.templates.as_deref(),
        runtime_path: arguments.runtime_path.as_deref(),
        rows: log.as_ref().map(|log| TableRows { log, given: &arguments.given }),
    })?;
    slow_targets(&model, &arguments.target).iter().for_each(|text| warning(text));
    tell(arguments, &report)
}

/// Prints the report: the diff is data and goes to standard output, everything else to standard error.
/// Returns the exit code.
fn tell(arguments: &RequestArguments, report: &Report) -> Result<u8, Failure> {
    status(&report.to_string());
    detail(&report.changed_files());
    let is_stale = report.mode == WriteMode::Check && !report.is_same();
    if arguments.json {
        stdout(&format!("{}\n", report.json()))?;
    } else if is_stale {
        stdout(&report.diff())?;
    }
    if !is_stale {
        return Ok(exit::SUCCESS);
    }
    let words: Vec<_> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let mending = words.join(" ").replace("--mode=check", "").replace("--mode check", "");
    let mending: Vec<&str> = mending.split_whitespace().collect();
    error(&format!("{} is stale; run: {}", arguments.out.display(), mending.join(" ")));
    Ok(exit::CHECK_FAILED)
}
