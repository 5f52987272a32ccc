//! `ah-collect`: see `ah-collect --help` and the library's documentation.

mod cli;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    ah_cli::finish(cli::run(&cli::Cli::parse()))
}
