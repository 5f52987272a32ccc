//! The options of a run.

use std::path::PathBuf;
use std::time::Duration;

use ah_model::Context;
use ah_types::TimingPolicy;

use crate::plan::Shard;

/// The options of a run: flags, and what is read by others.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
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
    /// Start no input after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub max_seconds: Option<Duration>,
    /// Measure one part of the sequence, so that several machines share it: 1/4 is the first of four
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    pub shard: Shard,
    /// The seed of the inputs: the same seed gives the same inputs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// The timing policy of the worker, changed by flags.
    #[arg(skip)]
    pub policy: TimingPolicy,
    /// Exactly these contexts, instead of the sequence.
    #[arg(skip)]
    pub listed: Option<Vec<Context>>,
}

/// Reads a number of seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}
