//! The command line.

use std::path::PathBuf;

use ah_train::{LearnerKind, NamedLog, PromiseMode, RawParams, SplitBy};
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
    /// The folder of the crate ah-runtime: the generated crate then gets the feature `runtime`.
    #[arg(long, value_name = "DIR")]
    pub runtime_path: Option<PathBuf>,
    /// Stop after the model.
    #[arg(long)]
    pub no_codegen: bool,
    /// What learns [default: the optimization's, else auto].
    #[arg(long, value_enum)]
    pub learner: Option<LearnerArg>,
    /// Splits on a path, at most [default: chosen by cross-validation, at most 8].
    #[arg(long, value_name = "D")]
    pub max_depth: Option<usize>,
    /// Inputs in a leaf, at least [default: chosen by cross-validation].
    #[arg(long, value_name = "N")]
    pub min_samples_leaf: Option<usize>,
    /// Trees that vote, 1 to 3.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub trees: usize,
    /// Leaves hold at least K choices, best first, for a program that measures these; declines nowhere.
    #[arg(long, value_name = "K")]
    pub ranking: Option<usize>,
    /// Keep the N choices that lose least.
    #[arg(long, value_name = "N")]
    pub max_choices: Option<usize>,
    /// What the program does when the heuristic is unsure [default: the optimization's].
    #[arg(long, value_name = "CHOICE")]
    pub fallback: Option<String>,
    /// The share of inputs that may be slower than the fallback by more than --max-slowdown, with
    /// 95 % confidence; `none` decides always.
    #[arg(long, default_value = "0.01", value_name = "P|none", value_parser = risk)]
    pub max_risk: Risk,
    /// What counts as slower than the fallback.
    #[arg(long, default_value_t = 1.05, value_name = "X", allow_negative_numbers = true)]
    pub max_slowdown: f64,
    /// How the inputs that the promise is calibrated on are kept from the fit.
    #[arg(long, value_enum, default_value_t = PromiseArg::Auto)]
    pub promise: PromiseArg,
    /// What is held out together.
    #[arg(long, value_enum, default_value_t = SplitArg::Input)]
    pub test_split: SplitArg,
    /// Judge the finished model on this log too; can be repeated.
    #[arg(long, num_args = 2, value_names = ["NAME", "LOG"])]
    pub data: Vec<String>,
    /// Learn from this log too, and never hold it out; can be repeated.
    #[arg(long, num_args = 2, value_names = ["NAME", "LOG"])]
    pub also_train: Vec<String>,
    /// How much an input of each --also-train counts, in their order [default: 1].
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    pub weight: Vec<f64>,
    /// How often each input occurs: its features joined by commas, a tab, a number.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// An optimization instead of the built-in one of the log's name.
    #[arg(long, value_name = "FILE.toml")]
    pub optimization: Option<PathBuf>,
    /// A training policy instead of the optimization's; PyTorch's own are in crates/ah-train/policies.
    #[arg(long, value_name = "FILE.toml")]
    pub policy: Option<PathBuf>,
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
    /// Write the tree as Graphviz beside the model.
    #[arg(long, value_name = "FILE.dot", num_args = 0..=1, default_missing_value = "tree.dot")]
    pub save_dot: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// `--max-risk`.
#[derive(Clone, Copy)]
pub struct Risk(pub Option<f64>);

fn risk(text: &str) -> Result<Risk, String> {
    if text == "none" {
        return Ok(Risk(None));
    }
    text.parse().map(|x| Risk(Some(x))).map_err(|_| "expected a share such as 0.01, or none".to_owned())
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LearnerArg {
    Auto,
    Soft,
    Linfa,
    Regression,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum SplitArg {
    Input,
    Dims,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PromiseArg {
    Auto,
    HoldOut,
    CrossFitted,
    ByDimensions,
}

impl TrainArgs {
    pub fn raw(&self) -> RawParams {
        RawParams {
            logs: self.logs.clone(),
            heuristic_name: self.heuristic_name.clone().unwrap_or_default(),
            optimization: self.optimization.clone(),
            policy: self.policy.clone(),
            learner: self.learner.map(|l| match l {
                LearnerArg::Auto => LearnerKind::Auto,
                LearnerArg::Soft => LearnerKind::Soft,
                LearnerArg::Linfa => LearnerKind::Linfa,
                LearnerArg::Regression => LearnerKind::Regression,
            }),
            max_depth: self.max_depth,
            min_samples_leaf: self.min_samples_leaf,
            fallback: self.fallback.clone(),
            test_split: match self.test_split {
                SplitArg::Input => SplitBy::Input,
                SplitArg::Dims => SplitBy::Dims,
            },
            seed: self.seed,
            skip_bad_rows: self.skip_bad_rows,
            nrows: self.nrows,
            also_train: named(&self.also_train),
            also_train_weights: self.weight.clone(),
            weights: self.weights.clone(),
            ranking: self.ranking,
            max_choices: self.max_choices,
            trees: self.trees,
            max_risk: self.max_risk.0,
            max_slowdown: self.max_slowdown,
            promise: match self.promise {
                PromiseArg::Auto => PromiseMode::Auto,
                PromiseArg::HoldOut => PromiseMode::HoldOut,
                PromiseArg::CrossFitted => PromiseMode::CrossFitted,
                PromiseArg::ByDimensions => PromiseMode::ByDimensions,
            },
        }
    }
}

/// `NAME LOG NAME LOG …`
pub fn named(pairs: &[String]) -> Vec<NamedLog> {
    let named = |pair: &[String]| NamedLog { name: pair[0].clone(), path: PathBuf::from(&pair[1]) };
    pairs.chunks_exact(2).map(named).collect()
}
