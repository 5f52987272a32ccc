//! The command line of every collecting program: its modes `collect` (the bare call), `report` and `list`.
//!
//! A [`Program`] adds the flags that name what it measures. `ah-collect` itself is such a program ([`tool`]), and so is
//! a program of functions.

mod check_worker;
mod collect;
mod list;
mod progress;
mod report;
mod signals;
mod source;
#[cfg(feature = "kernels")]
pub(crate) mod tool;

use std::process::ExitCode;

use ah_cli::arguments::{self, TerminalFlags};
use ah_cli::exit;
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::error::CollectError;
use crate::worker;

use check_worker::CheckWorkerFlags;
use collect::CollectFlags;
use list::ListFlags;
use report::ReportFlags;
pub(crate) use source::{Listing, NoFlags, Program, Source};

#[derive(Debug, clap::Parser)]
#[command(
    name = "ah-collect",
    version,
    args_conflicts_with_subcommands = true,
    mut_arg("verbose", |arg| arg.help("Print details too: a line for each input"))
)]
struct Cli<F: clap::Args> {
    #[command(subcommand)]
    mode: Option<Mode<F>>,
    #[command(flatten)]
    collect: CollectFlags<F>,
    #[command(flatten)]
    terminal: TerminalFlags,
}

#[derive(Debug, clap::Subcommand)]
enum Mode<F: clap::Args> {
    /// Measure and append to a log, as the command without a subcommand does
    Collect(CollectFlags<F>),
    /// Print the facts of a log, or write a page: coverage, noise, winners that change, drift of the machine
    Report(ReportFlags),
    /// Show what can be measured, with choices and features
    List(ListFlags<F>),
    /// Check that a program speaks the protocol of workers (docs/workers.md)
    CheckWorker(CheckWorkerFlags),
    /// Serve one parent over standard input and output
    #[command(hide = true, after_help = "Examples:\n  A worker:\n    ah-collect serve")]
    Serve {
        #[command(flatten)]
        source: F,
    },
    #[cfg(feature = "kernels")]
    #[command(flatten)]
    Shell(ah_cli::ShellCommand),
}

/// Runs the command line of this process for a program. `about` describes it, `examples` show its use.
pub(crate) fn main<P: Program>(program: &P, about: &str, examples: &'static str) -> ExitCode {
    // `std::env::args` panics at an argument that is not Unicode.
    if let Some(instead) = std::env::args_os().nth(1).and_then(|mode| instead_of(mode.to_str()?)) {
        return ah_cli::finish(Err(CollectError::Usage(instead.to_owned())));
    }
    let command = Cli::<P::Flags>::command().about(about.to_owned()).after_help(examples);
    let matches = arguments::matches(command);
    let flags = Cli::<P::Flags>::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    flags.terminal.apply();
    ah_cli::finish(run(program, flags.mode.unwrap_or(Mode::Collect(flags.collect))))
}

/// Returns what to do instead of a mode that there was once.
fn instead_of(mode: &str) -> Option<&'static str> {
    match mode {
        "evaluate" => Some(
            "evaluate is a mode of ah-train: measure fresh inputs (--seed 1 -o fresh.txt), then \
             ah-train evaluate model.json fresh.txt",
        ),
        "merge" => Some("logs need no merging: ah-train and ah-collect report read many logs as one"),
        _ => None,
    }
}

fn run<P: Program>(program: &P, mode: Mode<P::Flags>) -> Result<u8, CollectError> {
    match mode {
        Mode::Collect(flags) => flags.run(program),
        Mode::Report(flags) => flags.run(),
        Mode::List(flags) => flags.run(program),
        Mode::CheckWorker(flags) => flags.run(),
        Mode::Serve { source } => {
            let runner = program.source(source).and_then(<dyn Source>::open_in_worker);
            // An error here means that the parent is gone: nobody would read a message.
            let _ = worker::serve(runner);
            Ok(exit::SUCCESS)
        }
        #[cfg(feature = "kernels")]
        Mode::Shell(command) => Ok(command.print::<Cli<P::Flags>>().map(|()| exit::SUCCESS)?),
    }
}
