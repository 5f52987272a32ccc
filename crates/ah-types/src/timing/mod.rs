//! How choices are timed. The policy stands in a log's metadata; the runners of
//! `ah-collect` and the MultiKernel of `ah-runtime` both follow it.

use serde::{Deserialize, Serialize};

/// How one choice is timed on one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimingPolicy {
    /// Runs of each choice before its first sample.
    pub warmup_runs: u32,
    /// Samples of each choice at least, unless it is out of the running or over budget.
    pub min_samples: u32,
    /// Samples of each choice at most.
    pub max_samples: u32,
    /// Sampling stops when the 95 % interval of the median is at most this share of it to each side.
    pub target_relative_error: f64,
    /// Milliseconds that all samples of one choice on one input may take.
    pub budget_ms: f64,
    /// A sample of a shorter kernel is the mean of as many runs as fill this many milliseconds.
    pub min_sample_ms: f64,
    /// Caches are emptied before each sample.
    pub cold: bool,
    /// A choice is out of the running when its fastest sample takes more than this many times
    /// the slowest sample of the best choice so far; infinite never stops early.
    #[serde(with = "crate::number::null_is_infinite")]
    pub early_stop_ratio: f64,
}

impl Default for TimingPolicy {
    fn default() -> Self {
        Self {
            warmup_runs: 2,
            min_samples: 3,
            max_samples: 30,
            target_relative_error: 0.01,
            budget_ms: 200.0,
            min_sample_ms: 0.05,
            cold: false,
            early_stop_ratio: 3.0,
        }
    }
}
