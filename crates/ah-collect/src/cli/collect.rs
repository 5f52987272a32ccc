//! `ah-collect collect`: measures and appends to a log.

use std::path::PathBuf;
use std::time::Duration;

use ah_cli::{exit, status, stdout};
use ah_types::TimingPolicy;
use serde_json::json;

use super::program::Program;
use super::progress::Progress;
use super::signals;
use crate::collect;
use crate::error::CollectError;
use crate::options::Options;
use crate::plan::{self, Shard};
use crate::process_group;
use crate::worker::Limits;

/// Inputs that a run measures without a limit of its own.
const NUM_SAMPLES: u64 = 1000;

/// The flags of `ah-collect collect`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  Measure for two minutes:\n    ah-collect collect --max-seconds 120")]
pub(super) struct CollectFlags<F: clap::Args> {
    #[command(flatten)]
    source: F,
    /// The log to append to
    #[arg(long, short, default_value = "train.txt", value_name = "FILE")]
    output: PathBuf,
    /// Measure until the log holds N inputs [default: 1000, or no limit with --max-seconds or --draws]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    num_samples: Option<u64>,
    /// Draw this many inputs of the sequence, counted over all shards: the shards of N draws together measure the
    /// same inputs as one machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "inputs")]
    draws: Option<u64>,
    /// Start no input after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    max_seconds: Option<Duration>,
    /// Measure one part of the sequence, so that several machines share it: 1/4 is the first of four
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// Rows of the log for each choice on each input; each is the mean of a part of the samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    num_reps: Option<u32>,
    /// The seed of the inputs: the same seed gives the same inputs
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Measure exactly the contexts of this file: CSV whose header names the features, or a log
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// Seconds that one step of a choice may take before the choice counts as hung
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    hang_seconds: Duration,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Reads a number of seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

impl<F: clap::Args> CollectFlags<F> {
    pub fn run<P: Program<Flags = F>>(self, program: &P) -> Result<u8, CollectError> {
        let limits = Limits { answer: self.hang_seconds, ..Limits::default() };
        process_group::start_guard();
        let mut workers = program.workers(&self.source, limits)?;
        let Some(worker) = workers.first_mut() else {
            return Err(CollectError::Usage("there is nothing to measure".to_owned()));
        };
        let experiment = worker.experiment().clone();
        let inputs = match &self.inputs {
            Some(path) => Some(plan::read_inputs(path, worker, &experiment.optimization.schema()?)?),
            None => None,
        };
        let unlimited = self.max_seconds.is_some() || self.draws.is_some() || inputs.is_some();
        let options = Options {
            output: self.output,
            policy: policy(experiment.timing, self.num_reps),
            seed: self.seed,
            num_samples: self.num_samples.or((!unlimited).then_some(NUM_SAMPLES)),
            max_time: self.max_seconds,
            draws: self.draws,
            shard: self.shard,
            inputs,
        };
        let stop = signals::stop_on_signal();
        let summary = collect::collect(&mut workers, &options, &stop, &mut Progress::default())?;
        status(&format!("{summary}\nlog: {}\n", options.output.display()));
        if self.json {
            stdout(&format!("{}\n", json!({ "log": options.output, "run": summary })))?;
        }
        Ok(if summary.interrupted { exit::INTERRUPTED } else { exit::SUCCESS })
    }
}

/// Returns the timing policy of a worker, changed by the flags. A row is made of at least two samples.
fn policy(mut policy: TimingPolicy, repetitions: Option<u32>) -> TimingPolicy {
    if let Some(repetitions) = repetitions {
        policy.repetitions = repetitions;
        policy.min_samples = policy.min_samples.max(2 * repetitions);
        policy.max_samples = policy.max_samples.max(2 * repetitions);
    }
    policy
}
