//! The command line.

use std::path::PathBuf;

use ah_cli::arguments::{TerminalFlags, one_of};
use clap::{Parser, ValueEnum};

use crate::{GENERATORS, Generator, WriteMode};

/// Turn a learned model into source code.
///
/// Exit codes: 0 done; 1 --mode check found a difference; 2 wrong command line; 3 the model is not
/// valid; 4 reading or writing failed.
#[derive(Debug, Parser)]
#[command(
    after_help = EXAMPLES,
    mut_arg("verbose", |arg| arg.help("Print details too: each file that changes"))
)]
pub struct Arguments {
    /// The model, as ah-train writes it
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// What to generate, separated by commas [default: what the model was learned for, else rust]
    #[arg(long, value_name = "TARGETS", value_delimiter = ',', value_parser = one_of(GENERATORS.each_ref().map(|generator| (generator.target.name(), generator))))]
    pub target: Vec<&'static Generator>,
    /// The folder below which everything is written
    #[arg(long, value_name = "DIR", default_value = "generated")]
    pub out: PathBuf,
    /// Write, or compare with what is there
    #[arg(long, value_enum, default_value_t = WriteMode::Write)]
    pub mode: WriteMode,
    /// Write this file instead, as a module of your own library
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub into: Option<PathBuf>,
    /// What the code does beside choosing: rank choices and pick among offered ones; serve ah-runtime
    #[arg(long, value_enum, value_delimiter = ',', value_name = "EXTRAS")]
    pub with: Vec<Extra>,
    /// The path of the crate ah-runtime from the generated crate's folder, for --with runtime
    #[arg(long, value_name = "PATH", default_value = "../../crates/ah-runtime", requires = "with")]
    pub runtime_path: PathBuf,
    /// The SPDX name of your license, for the first lines
    #[arg(long, value_name = "SPDX")]
    pub license: Option<String>,
    /// Write a target that the model was not learned for
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub terminal: TerminalFlags,
}

const EXAMPLES: &str = "\
Examples:
  The code of the model's targets, such as a Rust crate, in generated/:
    ah-codegen model.json
  A C header and a Python module of a model that was learned for C and Python, in another folder:
    ah-codegen model.json --target c,python --out src/heuristics
  A module of your own library:
    ah-codegen model.json --into src/picker.rs
  In CI: fail if the generated code is stale, and print the difference:
    ah-codegen model.json --mode check";

/// What generated code does beside choosing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Extra {
    /// Rankings, and the choice among those that a program offers
    Ranked,
    /// The trait of ah-runtime, for Rust; with rankings
    Runtime,
}
