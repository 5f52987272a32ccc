//! The flags of the modes that measure.

use std::path::PathBuf;
use std::time::Duration;

use ah_types::TimingPolicy;

use crate::worker::Limits;

/// With --adaptive, a choice stops early when it is this many times as slow as the best: further samples show
/// how slow it is, but it does not win.
const ADAPTIVE_EARLY_STOP: f64 = 1.2;

/// With --adaptive, the most samples of a choice, or one for each row if that is more: where six samples do not
/// separate two choices, taking the wrong one costs little.
const ADAPTIVE_SAMPLES: u32 = 6;

/// The flags of the modes that measure.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct MeasureFlags {
    /// Rows of the log for each choice on each input; each is the mean of a part of the samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub num_reps: Option<u32>,
    /// The seed of the inputs: the same seed gives the same inputs
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure exactly the contexts of this file: CSV whose header names the features, or a log
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Seconds that one step of a choice may take before the choice counts as hung
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    pub hang_seconds: Duration,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Reads a number of seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

impl MeasureFlags {
    /// Returns the time limits of a worker process.
    pub fn limits(&self) -> Limits {
        Limits { answer: self.hang_seconds, ..Limits::default() }
    }

    /// Returns the timing policy of a runner, changed by the flags.
    pub fn policy(&self, mut policy: TimingPolicy, is_adaptive: bool) -> TimingPolicy {
        if let Some(repetitions) = self.num_reps {
            policy.repetitions = repetitions;
            policy.min_samples = policy.min_samples.max(repetitions);
            policy.max_samples = policy.max_samples.max(repetitions);
        }
        if is_adaptive {
            let most = policy.repetitions.max(ADAPTIVE_SAMPLES);
            policy.max_samples = policy.max_samples.min(most);
            policy.min_samples = policy.min_samples.min(most);
            policy.early_stop_ratio = policy.early_stop_ratio.min(ADAPTIVE_EARLY_STOP);
        }
        policy
    }
}
