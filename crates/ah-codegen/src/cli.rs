//! The command line.

use std::path::PathBuf;

use ah_codegen::{Detail, TARGETS, Target, WriteMode};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, ValueEnum};

/// Turns a learned model into source code
///
/// Exit codes: 0 done; 1 --mode check found a difference; 2 wrong command line; 3 the model or a
/// template is not valid; 4 reading or writing failed.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    /// The model, as ah-train writes it
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// What to generate, separated by commas
    #[arg(long, value_name = "TARGETS", value_delimiter = ',', default_value = "rust", value_parser = targets())]
    pub target: Vec<&'static dyn Target>,
    /// The most choices that a leaf ranks
    #[arg(long, value_name = "CHOICES", default_value_t = Detail::default().ranking)]
    pub ranking: usize,
    /// Keep sibling leaves apart that decide alike, with the evidence of each
    #[arg(long)]
    pub all_leaves: bool,
    /// The folder below which everything is written
    #[arg(long, value_name = "DIR", default_value = "generated")]
    pub out: PathBuf,
    /// Write, compare with what is there, or report what would be written
    #[arg(long, value_enum, default_value_t = ModeArgument::Write)]
    pub mode: ModeArgument,
    /// Templates that replace the built-in ones file by file, such as DIR/rust/src/lib.rs.tera
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// The folder of the crate ah-runtime: the Rust crate gets the feature `runtime`
    #[arg(long, value_name = "PATH")]
    pub runtime_path: Option<PathBuf>,
}

fn targets() -> impl TypedValueParser<Value = &'static dyn Target> {
    PossibleValuesParser::new(TARGETS.map(Target::name))
        .try_map(|name| TARGETS.into_iter().find(|target| target.name() == name).ok_or("not a target"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArgument {
    Write,
    Check,
    DryRun,
}

impl From<ModeArgument> for WriteMode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::Write => Self::Write,
            ModeArgument::Check => Self::Check,
            ModeArgument::DryRun => Self::DryRun,
        }
    }
}
