//! The command line of every collecting program: its modes `collect` (the bare call), `list` and `check-worker`.
//!
//! A [`Program`] adds the flags that name what it measures. `ah-collect` itself is such a program, and so is a program of
//! functions.

mod check_worker;
mod collect;
mod program;

use ah_model::Error;
use std::process::ExitCode;
use std::time::Duration;

use ah_cli::arguments::TerminalFlags;
use ah_cli::{exit, stdout};
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::process_group;
use crate::units::seconds;

use check_worker::CheckWorkerFlags;
use collect::CollectFlags;
pub(crate) use program::Program;
#[cfg(feature = "kernels")]
pub(crate) use program::{LIMIT, listing, listing_of};

#[derive(Debug, clap::Parser)]
#[command(
    name = "ah-collect",
    args_conflicts_with_subcommands = true,
    mut_arg("verbose", |arg| arg.help("Print details of measuring: a line for each input"))
)]
pub(crate) struct Cli<F: clap::Args> {
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
    /// Show what can be measured, with choices and features
    #[command(after_help = "Examples:\n  Everything that can be measured here:\n    ah-collect list")]
    List {
        #[command(flatten)]
        source: F,
    },
    /// Check that a program speaks the protocol of workers (docs/workers.md)
    CheckWorker(CheckWorkerFlags),
    /// Serve one parent over standard input and output
    #[command(hide = true, after_help = "Examples:\n  A worker:\n    ah-collect serve")]
    Serve {
        #[command(flatten)]
        source: F,
        /// Seconds that a command may take
        #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
        hang_seconds: Duration,
    },
    /// End the processes of a collector that is gone
    #[command(hide = true, after_help = "Examples:\n  The guard of a run:\n    ah-collect guard")]
    Guard,
}

/// The flags and subcommands of a program.
pub(crate) fn command<F: clap::Args>(about: &str, examples: &'static str) -> clap::Command {
    Cli::<F>::command().about(about.to_owned()).after_help(examples)
}

/// Runs the command line of this process for a program. `about` describes it, `examples` show its use.
pub(crate) fn main<P: Program>(program: P, about: &str, examples: &'static str) -> ExitCode {
    let arguments = std::env::args_os().collect();
    let matches = ah_cli::arguments::matches(command::<P::Flags>(about, examples), arguments);
    let flags = Cli::<P::Flags>::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    flags.terminal.apply();
    ah_cli::finish(run(program, flags.mode.unwrap_or(Mode::Collect(flags.collect))))
}

fn run<P: Program>(program: P, mode: Mode<P::Flags>) -> Result<u8, Error> {
    match mode {
        Mode::Collect(flags) => return flags.run(&program),
        Mode::CheckWorker(flags) => return flags.run(),
        Mode::List { source } => stdout(&program.list(&source)?)?,
        // An error here means that the collector is gone: nobody would read a message.
        Mode::Serve { source, hang_seconds } => _ = program.serve(source, hang_seconds),
        Mode::Guard => process_group::guard(),
    }
    Ok(exit::SUCCESS)
}
