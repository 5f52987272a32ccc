//! The flags of every collecting program, whether it measures shipped kernels or its own functions.

use std::path::PathBuf;
use std::time::Duration;

use ah_cli::arguments::{self, TerminalFlags};
use ah_types::TimingPolicy;
use clap::{Args as _, FromArgMatches as _};

use crate::plan::Shard;
use crate::worker::Limits;

/// With --adaptive, a choice stops early when it is this many times as slow as the best: further samples show
/// how slow it is, but it does not win.
const ADAPTIVE_EARLY_STOP: f64 = 1.2;

/// With --adaptive, the most samples of a choice, or one for each row if that is more: where six samples do not
/// separate two choices, taking the wrong one costs little.
const ADAPTIVE_SAMPLES: u32 = 6;

/// The flags of every collecting program.
#[derive(Clone, Debug, clap::Args)]
pub struct RunFlags {
    /// The log to append to
    #[arg(long, short, default_value = "train.txt", value_name = "FILE")]
    pub output: PathBuf,
    /// Measure until the log holds N inputs [default: 1000, or no limit with --max-seconds or --draws]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub num_samples: Option<u64>,
    /// Draw this many inputs of the sequence, counted over all shards: the shards of N draws together measure the
    /// same inputs as one machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "inputs")]
    pub draws: Option<u64>,
    /// Rows of the log for each choice on each input; each is the mean of a part of the samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub num_reps: Option<u32>,
    /// Start no input after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub max_seconds: Option<Duration>,
    /// The seed of the inputs: the same seed gives the same inputs
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure exactly the contexts of this file: CSV whose header names the features, or a log
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Leave out choices that the times so far show to be slow; on a random SHARE of the inputs, time every choice
    /// [default: the log's, or as many inputs as a promise of 1 % needs, at least 10 % and at most 50 %]
    #[arg(
        long,
        value_name = "SHARE",
        num_args = 0..=1,
        require_equals = true,
        value_parser = share,
        conflicts_with = "use_heuristic"
    )]
    pub adaptive: Option<Option<f64>>,
    /// Measure one part of the sequence, so that several machines share it: 1/4 is the first of four
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    pub shard: Shard,
    /// Seconds that one step of a choice may take before the choice counts as hung
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    pub hang_seconds: Duration,
    /// Show what can be measured, with choices and features
    #[arg(long)]
    pub list: bool,
    /// Describe the contents of a log; with a second log of the same inputs, also how well times repeat
    #[arg(long, value_name = "LOG", num_args = 1..=2)]
    pub describe: Vec<PathBuf>,
    /// Judge this model on fresh inputs, measuring every choice there; nothing is written
    #[arg(long, value_name = "MODEL")]
    pub use_heuristic: Option<PathBuf>,
    /// With --use-heuristic: compare also with the fastest of these choices, as a library would take them
    #[arg(long, value_name = "CHOICE,...", value_delimiter = ',', requires = "use_heuristic")]
    pub baseline: Vec<String>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// What to print.
    #[command(flatten)]
    pub terminal: TerminalFlags,
    /// Serve one parent over standard input and output.
    #[arg(long, hide = true)]
    pub worker: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "expected a share between 0 and 1, for example 0.1".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

impl RunFlags {
    /// Returns the flags of this process, which has no others; wrong ones end it. `about` is the first line
    /// of --help.
    pub fn of_this_process(about: &str) -> Self {
        let command = clap::Command::new("ah-collect").about(about.to_owned());
        let matches = arguments::matches(Self::augment_args(command));
        Self::from_arg_matches(&matches).unwrap_or_else(|e| e.exit())
    }

    /// Returns the limits of a worker process.
    pub fn limits(&self) -> Limits {
        Limits { answer: self.hang_seconds, ..Limits::default() }
    }

    /// Returns the timing policy of a runner, changed by the flags.
    pub(super) fn policy(&self, mut policy: TimingPolicy) -> TimingPolicy {
        if let Some(repetitions) = self.num_reps {
            policy.repetitions = repetitions;
            policy.min_samples = policy.min_samples.max(repetitions);
            policy.max_samples = policy.max_samples.max(repetitions);
        }
        if self.adaptive.is_some() {
            let most = policy.repetitions.max(ADAPTIVE_SAMPLES);
            policy.max_samples = policy.max_samples.min(most);
            policy.min_samples = policy.min_samples.min(most);
            policy.early_stop_ratio = policy.early_stop_ratio.min(ADAPTIVE_EARLY_STOP);
        }
        policy
    }
}
