//! The options of a run.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ah_model::Context;
use ah_types::TimingPolicy;

use crate::units::seconds;

/// The options of a run.
// The doc comments of flags are the help texts.
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

/// One part of a sequence: `2/4` is the second of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    index: u64,
    count: NonZeroU64,
}

impl Shard {
    /// Whether the input at this position of the sequence belongs to this part.
    pub fn contains(self, position: u64) -> bool {
        position % self.count == self.index
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (index, count) = text.split_once('/')?;
            let index = index.parse::<u64>().ok()?;
            let count = count.parse::<NonZeroU64>().ok()?;
            (1..=count.get()).contains(&index).then(|| Self { index: index - 1, count })
        };
        parse().ok_or_else(|| format!("expected I/N with I from 1 to N, for example 1/4, found {text:?}"))
    }
}
