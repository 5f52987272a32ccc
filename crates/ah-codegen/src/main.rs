//! `ah-codegen MODEL`: load → lower → render → write.

mod cli;

use std::process::ExitCode;

use ah_cli::{FatalError, exit, stderr, stdout};
use ah_codegen::{CodegenError, Detail, Report, Request, WriteMode, generate};
use ah_types::Model;
use clap::Parser;
use cli::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    ah_cli::finish(run(&arguments).map(|report| tell(&arguments, &report)))
}

fn run(arguments: &Arguments) -> Result<Report, CodegenError> {
    let model = Model::read(&arguments.model)?;
    generate(&Request {
        model: &model,
        targets: &arguments.target,
        out: &arguments.out,
        detail: Detail { all_leaves: arguments.all_leaves, ranking: arguments.ranking },
        mode: arguments.mode.into(),
        templates: arguments.templates.as_deref(),
        runtime_path: arguments.runtime_path.as_deref(),
    })
}

/// Prints the report: the diff is data and goes to standard output, everything else to standard error.
/// Returns the exit code.
fn tell(arguments: &Arguments, report: &Report) -> u8 {
    stderr(&report.to_string());
    if report.mode != WriteMode::Check || report.is_same() {
        return exit::SUCCESS;
    }
    if let Err(error) = stdout(&report.diff()) {
        stderr(&format!("error: {error}\n"));
        return error.exit_code();
    }
    let words: Vec<String> = std::env::args().collect();
    let mending = words.join(" ").replace("--mode=check", "").replace("--mode check", "");
    let mending: Vec<&str> = mending.split_whitespace().collect();
    stderr(&format!("error: {} is stale; run: {}\n", arguments.out.display(), mending.join(" ")));
    exit::CHECK_FAILED
}
