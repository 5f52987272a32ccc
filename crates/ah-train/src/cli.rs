//! The command line.

use std::path::PathBuf;

use ah_train::RawParams;
use ah_train::learners::Kind;
use ah_train::split::SplitBy;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Learn from a log which choice to take, and generate the code that takes it.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub train: TrainArgs,
}

#[derive(Subcommand)]
pub enum Command {
    /// Judge a model on logs of its optimization.
    Evaluate(EvaluateArgs),
}

#[derive(Args)]
pub struct EvaluateArgs {
    /// The model.
    pub model: PathBuf,
    /// The logs, plain or gzip, judged together.
    #[arg(required = true)]
    pub logs: Vec<PathBuf>,
    /// Write one line for each input: its features, a tab, the choices best first joined by `;`.
    #[arg(long, value_name = "OUT.tsv")]
    pub decisions: Option<PathBuf>,
    /// Pass over malformed rows and count them.
    #[arg(long)]
    pub skip_bad_rows: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct TrainArgs {
    /// The logs, plain or gzip, merged in this order.
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// The heuristic's name; becomes the name of the generated crate.
    #[arg(long, required = true, value_name = "NAME")]
    pub heuristic_name: Option<String>,
    /// Where to write the model.
    #[arg(long, default_value = "model.json", value_name = "PATH")]
    pub model: PathBuf,
    /// Where to generate code.
    #[arg(long, default_value = "generated", value_name = "DIR")]
    pub out: PathBuf,
    /// Stop after the model.
    #[arg(long)]
    pub no_codegen: bool,
    /// What learns.
    #[arg(long, value_enum, default_value_t = LearnerArg::Auto)]
    pub learner: LearnerArg,
    /// Splits on a path, at most [default: chosen by cross-validation, at most 8].
    #[arg(long, value_name = "D")]
    pub max_depth: Option<usize>,
    /// Inputs in a leaf, at least [default: chosen by cross-validation].
    #[arg(long, value_name = "N")]
    pub min_samples_leaf: Option<usize>,
    /// What the program does when the heuristic is unsure [default: the optimization's].
    #[arg(long, value_name = "CHOICE")]
    pub fallback: Option<String>,
    /// What is held out together.
    #[arg(long, value_enum, default_value_t = SplitArg::Input)]
    pub test_split: SplitArg,
    /// An optimization instead of the built-in one of the log's name.
    #[arg(long, value_name = "FILE.toml")]
    pub optimization: Option<PathBuf>,
    /// The seed of all splits.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Threads [default: all cores]; the result does not depend on it.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Read only so many rows of each log.
    #[arg(long, value_name = "N")]
    pub nrows: Option<u64>,
    /// Pass over malformed rows and count them.
    #[arg(long)]
    pub skip_bad_rows: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LearnerArg {
    Auto,
    Soft,
    Linfa,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum SplitArg {
    Input,
    Dims,
}

impl TrainArgs {
    pub fn raw(&self) -> RawParams {
        RawParams {
            logs: self.logs.clone(),
            heuristic_name: self.heuristic_name.clone().unwrap_or_default(),
            optimization: self.optimization.clone(),
            learner: match self.learner {
                LearnerArg::Auto => Kind::Auto,
                LearnerArg::Soft => Kind::Soft,
                LearnerArg::Linfa => Kind::Linfa,
            },
            max_depth: self.max_depth,
            min_samples_leaf: self.min_samples_leaf,
            fallback: self.fallback.clone(),
            test_split: match self.test_split {
                SplitArg::Input => SplitBy::Input,
                SplitArg::Dims => SplitBy::Dims,
            },
            seed: self.seed,
            threads: self.threads,
            skip_bad_rows: self.skip_bad_rows,
            nrows: self.nrows,
        }
    }
}
