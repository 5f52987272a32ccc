//! `ah-codegen MODEL`: load → lower → render → write.

mod cli;

use std::process::ExitCode;

use ah_codegen::{CodegenError, Mode, Report, Request, generate};
use ah_types::{Model, exit, stdout};
use clap::Parser;
use cli::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(report) => ExitCode::from(tell(&arguments, &report)),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(arguments: &Arguments) -> Result<Report, CodegenError> {
    let model = Model::read(&arguments.model)?;
    generate(&Request {
        model: &model,
        targets: &arguments.target,
        out: &arguments.out,
        mode: arguments.mode.into(),
        templates: arguments.templates.as_deref(),
        runtime_path: arguments.runtime_path.as_deref(),
    })
}

/// The diff is data and goes to standard output, everything else to standard error.
fn tell(arguments: &Arguments, report: &Report) -> u8 {
    eprint!("{report}");
    if report.mode != Mode::Check || report.is_same() {
        return exit::SUCCESS;
    }
    if let Err(error) = stdout::print(&report.diff()) {
        eprintln!("error: {error}");
        return error.exit_code();
    }
    let words: Vec<String> = std::env::args().collect();
    let mending = words.join(" ").replace("--mode=check", "").replace("--mode check", "");
    let mending: Vec<&str> = mending.split_whitespace().collect();
    eprintln!("error: {} is stale; run: {}", arguments.out.display(), mending.join(" "));
    exit::CHECK_FAILED
}
