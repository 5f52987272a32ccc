//! The options of a run.

use std::path::PathBuf;
use std::time::Duration;

use ah_model::Context;
use ah_types::TimingPolicy;

use crate::shard::Shard;

/// The options of a run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The log to append to.
    pub output: PathBuf,
    /// The inputs that the log holds at the end.
    pub num_samples: Option<u64>,
    /// The inputs of the sequence, counted over all shards.
    pub draws: Option<u64>,
    /// No input starts after this time.
    pub max_seconds: Option<Duration>,
    /// The part of the sequence that is measured.
    pub shard: Shard,
    /// The seed of the inputs.
    pub seed: u64,
    /// The timing policy of the worker, changed by flags.
    pub policy: TimingPolicy,
    /// Exactly these contexts, instead of the sequence.
    pub listed: Option<Vec<Context>>,
}
