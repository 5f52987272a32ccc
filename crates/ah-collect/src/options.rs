//! The options of a run.

use std::path::PathBuf;
use std::time::Duration;

use ah_types::{Context, TimingPolicy};

use crate::plan::Shard;

/// The options of a run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The log.
    pub output: PathBuf,
    /// The timing policy.
    pub policy: TimingPolicy,
    /// The seed of the inputs.
    pub seed: u64,
    /// The number of inputs in the log at the end; `None`: no limit.
    pub num_samples: Option<u64>,
    /// The length of the whole sequence; `shard` is a part of it. Draws that repeat an input count too.
    pub draws: Option<u64>,
    /// No input starts after this time.
    pub max_time: Option<Duration>,
    /// The part of the sequence that this run measures.
    pub shard: Shard,
    /// Exactly these contexts, instead of the sequence.
    pub inputs: Option<Vec<Context>>,
}
