//! The command line.

use std::path::PathBuf;

use ah_cli::arguments::TerminalFlags;
use ah_import::ImportParams;

use clap::{Arg, Args, Parser, Subcommand};

use crate::params::Params;

/// Learn from a log which choice to take, and generate the code that takes it.
#[derive(Parser)]
#[command(
    args_conflicts_with_subcommands = true,
    args_override_self = true,
    subcommand_negates_reqs = true,
    after_help = TRAIN_EXAMPLES,
    mut_arg("verbose", |arg| arg.help("Print details of a training: all settings, and what it was judged on"))
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub train: TrainArgs,
    #[command(flatten)]
    pub terminal: TerminalFlags,
}

const TRAIN_EXAMPLES: &str = "\
Examples:
  Learn from a log; write model.json and a Rust crate in generated/:
    ah-train train.txt --heuristic-name pad_mm
  The smallest tree that loses little, for a program in Python, and a report:
    ah-train train.txt --heuristic-name pad_mm --size smallest --target python --report
  One tree that people read, learned by the rules of a file:
    ah-train train.txt --heuristic-name sort --optimization sort.toml --learner cost_tree";

const EVALUATE_EXAMPLES: &str = "\
Examples:
  Judge a model on a log of fresh inputs:
    ah-train evaluate model.json fresh.txt";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  The reasons for one decision:
    ah-train explain model.json m=1 k=4096 n=4096
  The same if the program offers two choices:
    ah-train explain model.json m=1 k=4096 n=4096 --offered orig,pad";

const REPORT_EXAMPLES: &str = "\
Examples:
  A page for a browser:
    ah-train report model.json train.txt -o report.html";

const TABLE_EXAMPLES: &str = "\
Examples:
  A table of configurations, changed only where a log proves a gain:
    ah-train table model.json fresh.txt -o fused_moe_table.json";

const IMPORT_EXAMPLES: &str = "\
Examples:
  Each row has a shape, two columns that make up the choice, and a time:
    ah-train import timings.csv --name my_gemm --features M,N,K --choice BLOCK_M,num_warps --time ms
  The file of a tool that import knows; --name-pattern splits the names of its benchmarks:
    ah-train import b.json --tool google-benchmark --name sort --name-pattern (?<way>\\w+)/(?<n>\\d+) --features n --choice way
  Learn at once:
    ah-train import timings.csv --name my_gemm --features M,N,K --choice kernel --time ms --heuristic-name my_gemm";

#[derive(Subcommand)]
pub enum Command {
    /// Judge a model on logs of its optimization.
    Evaluate(EvaluateArgs),
    /// Explain a model's decision for one input: the path, the evidence and the alternatives
    Explain(ExplainArgs),
    /// Write a page about a model on logs: gain, promise, maps, the tree, the worst inputs
    Report(ReportArgs),
    /// Write a table of a model's decisions on the inputs of logs, for a program that reads one.
    Table(TableArgs),
    /// Make a log of a table of timings; with --heuristic-name, learn from it at once.
    Import(Box<ImportArgs>),
}

#[derive(Args)]
#[command(
    after_help = IMPORT_EXAMPLES,
    mut_arg("logs", |arg| {
        let help = "The tables: CSV, TSV, JSON lines or JSON; - is standard input";
        arg.required(false).required_unless_present("show").value_name("TABLE").help(help).help_heading(None)
    }),
    mut_arg("heuristic_name", |arg| arg.required(false).help("Learn from the log at once: the heuristic's name")),
    mut_args(of_learning)
)]
pub struct ImportArgs {
    #[command(flatten)]
    params: ImportParams,
    /// Print the flags that --tool sets, and end.
    #[arg(long, requires = "tool")]
    show: bool,
    #[command(flatten, next_help_heading = "Learning")]
    pub train: TrainArgs,
}

/// Refuses a flag of learning without a name to learn for: it would have no effect.
fn of_learning(arg: Arg) -> Arg {
    let imports = ["heuristic_name", "skip_bad_rows", "json", "threads"].contains(&arg.get_id().as_str());
    if imports || arg.get_help_heading().is_none() { arg } else { arg.requires("heuristic_name") }
}

impl ImportArgs {
    /// The tool whose flags are to be printed.
    pub fn shown_tool(&self) -> Option<&str> {
        self.params.tool.as_deref().filter(|_| self.show)
    }

    /// The parameters with the tables.
    pub fn params(&self) -> ImportParams {
        let Params { logs, skip_bad_rows, .. } = &self.train.params;
        ImportParams { tables: logs.clone(), skip_bad_rows: *skip_bad_rows, ..self.params.clone() }
    }

    /// The parameters of a training on the log, where one is asked for.
    pub fn training(&self) -> Option<TrainArgs> {
        let mut train = self.train.clone();
        train.params.logs = vec![self.params.output.clone()];
        (!train.params.heuristic_name.is_empty()).then_some(train)
    }
}

/// A model, and the logs to judge it on.
#[derive(Args)]
pub struct JudgingArgs {
    /// The model.
    pub model: PathBuf,
    /// The logs, plain or gzip, judged together.
    #[arg(required = true)]
    pub logs: Vec<PathBuf>,
    /// A file with the weights of inputs, as for a training.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Skip malformed rows and count them.
    #[arg(long)]
    pub skip_bad_rows: bool,
}

#[derive(Args)]
#[command(after_help = EVALUATE_EXAMPLES)]
pub struct EvaluateArgs {
    #[command(flatten)]
    pub judging: JudgingArgs,
    /// Write one line for each input: its features, a tab, the choices best first joined by `;`.
    #[arg(long, value_name = "OUT.tsv")]
    pub decisions: Option<PathBuf>,
    /// Print JSON instead of sentences.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub struct ReportArgs {
    #[command(flatten)]
    pub judging: JudgingArgs,
    /// Where to write the page.
    #[arg(long, short, default_value = "report.html", value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Args)]
#[command(after_help = TABLE_EXAMPLES)]
pub struct TableArgs {
    /// The model.
    pub model: PathBuf,
    /// The logs, plain or gzip, read together: the inputs of the table, with times that prove each change from the fallback.
    #[arg(required = true)]
    pub logs: Vec<PathBuf>,
    /// Where to write the table.
    #[arg(long, short, default_value = "table.json", value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct ExplainArgs {
    /// The model.
    pub model: PathBuf,
    /// The input: one value for each feature; a feature that is not given is undefined.
    #[arg(value_name = "FEATURE=VALUE")]
    pub input: Vec<String>,
    /// The choices that the program offers, separated by commas [default: the fallback and the choices that
    /// training measured nearly everywhere]
    #[arg(long, value_name = "CHOICE,...", value_delimiter = ',')]
    pub offered: Vec<String>,
}

#[derive(Clone, Args)]
pub struct TrainArgs {
    #[command(flatten)]
    pub params: Params,
    /// Where to write the model.
    #[arg(long, default_value = "model.json", value_name = "PATH")]
    pub model: PathBuf,
    /// Where to generate code.
    #[arg(long, default_value = "generated", value_name = "DIR")]
    pub out: PathBuf,
    /// Write this file instead, as a module of your own library.
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub into: Option<PathBuf>,
    /// A file with the source of the choices, such as a kernel; can be given more than once. Model and code have its hash, and --check
    /// compares it.
    #[arg(long, value_name = "FILE")]
    pub source: Vec<PathBuf>,
    /// The path of the crate ah-runtime from the generated crate's folder: that crate then has the feature `runtime`.
    #[arg(long, value_name = "DIR")]
    pub runtime_path: Option<PathBuf>,
    /// Stop after the model.
    #[arg(long)]
    pub no_codegen: bool,
    /// Learn again and compare with the model and the code that are there; write nothing. Exit code 1: they differ.
    #[arg(long, conflicts_with_all = ["report", "json"])]
    pub check: bool,
    /// The number of threads, at most 1024 [default: all cores]; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Write a page about the model on its logs.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "report.html")]
    pub report: Option<PathBuf>,
    /// Print JSON instead of sentences.
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use serde_json::Value;

    use super::*;
    use crate::plan::{MAX_DEPTH, usual};
    use crate::promise::calibrate::DEFAULT_SHARES;

    #[test]
    fn the_help_prints_the_defaults_that_are_used() {
        let used = serde_json::json!(usual(Some(DEFAULT_SHARES[0])));
        let mut compared = Vec::new();
        for arg in Cli::command().get_arguments() {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let name = arg.get_long().unwrap_or_default().replace('-', "_");
            let Some((_, shown)) = help.split_once("[default: ") else { continue };
            let shown = shown.trim_end_matches(']');
            let default = match (&name[..], used.get(&name)) {
                ("max_depth", _) => MAX_DEPTH.to_string(),
                ("max_risk", _) => DEFAULT_SHARES.map(|share| format!("{}%", share * 100.0)).join(" "),
                (_, Some(Value::Array(all))) => all.iter().filter_map(Value::as_str).collect(),
                (_, Some(Value::String(text))) => text.clone(),
                (_, Some(number)) if !number.is_null() => number.to_string(),
                _ => continue,
            };
            let words = shown.replace(", or what the inputs can show:", "").replace(" or ", " ");
            assert!(words.ends_with(&default), "--{name}: {shown}, not {default}");
            compared.push(name);
        }
        assert_eq!(compared.len(), 10, "{compared:?}");
    }
}
