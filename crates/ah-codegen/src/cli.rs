//! The command line.

use std::path::PathBuf;

use ah_cli::ShellCommand;
use ah_cli::arguments::{TerminalFlags, one_of};
use ah_codegen::{Detail, Form, TARGETS, Target, WriteMode};
use clap::{Args, Parser};

/// Turn a learned model into source code.
///
/// Exit codes: 0 done; 1 --mode check found a difference; 2 wrong command line; 3 the model or a
/// template is not valid; 4 reading or writing failed.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = EXAMPLES,
    mut_arg("verbose", |arg| arg.help("Print details too: each file that changes"))
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<ShellCommand>,
    #[command(flatten)]
    pub request: Option<RequestArguments>,
    #[command(flatten)]
    pub terminal: TerminalFlags,
}

const EXAMPLES: &str = "\
Examples:
  A Rust crate in generated/:
    ah-codegen model.json
  A C header and a Python module in another folder:
    ah-codegen model.json --target c,python --out src/heuristics
  One plain C function, as people write by hand:
    ah-codegen model.json --target c --form switch
  vLLM's file of configurations, changed only where a log proves a gain:
    ah-codegen model.json --target vllm --rows fresh.txt --given E=8 --given N=14336
  In CI: fail if the generated code is stale, and print the difference:
    ah-codegen model.json --mode check";

/// What to generate, and where.
#[derive(Debug, Args)]
pub struct RequestArguments {
    /// The model, as ah-train writes it
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// What to generate, separated by commas
    #[arg(long, value_name = "TARGETS", value_delimiter = ',', default_value = "rust", value_parser = one_of(TARGETS.map(|target| (target.name(), target))))]
    pub target: Vec<&'static dyn Target>,
    /// The form of the code
    #[arg(long, value_enum, default_value_t = Form::Module)]
    pub form: Form,
    /// The most choices that a leaf ranks; ensembles keep all
    #[arg(long, value_name = "CHOICES", default_value_t = Detail::default().max_ranked)]
    pub max_ranked: usize,
    /// Keep sibling leaves apart that decide alike, with the evidence of each
    #[arg(long)]
    pub all_leaves: bool,
    /// The folder below which everything is written
    #[arg(long, value_name = "DIR", default_value = "generated")]
    pub out: PathBuf,
    /// Write, compare with what is there, or report what would be written
    #[arg(long, value_enum, default_value_t = WriteMode::Write)]
    pub mode: WriteMode,
    /// Templates that replace the built-in ones file by file, such as DIR/rust/src/lib.rs.tera
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// The folder of the crate ah-runtime: the Rust crate gets the feature `runtime`
    #[arg(long, value_name = "PATH")]
    pub runtime_path: Option<PathBuf>,
    /// For vllm, sglang and aiter: a log with the inputs of the table, and times that prove each change from the fallback
    #[arg(long, value_name = "LOG")]
    pub rows: Vec<PathBuf>,
    /// A column of the table that the log does not have, such as E=8; may be repeated
    #[arg(long, value_name = "COLUMN=VALUE", value_parser = column, requires = "rows")]
    pub given: Vec<(String, String)>,
    /// Print the report as JSON on standard output, with the difference
    #[arg(long)]
    pub json: bool,
}

/// Splits `COLUMN=VALUE`.
fn column(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected COLUMN=VALUE, such as E=8")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_help_text_has_examples_that_are_valid() {
        Arguments::command().debug_assert();
        assert_eq!(ah_cli::arguments::wrong_examples(&Arguments::command()), Vec::<String>::new());
    }
}
