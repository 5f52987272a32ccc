//! `ah-collect collect`: measures and appends to a log.

use std::path::PathBuf;
use std::time::Duration;

use ah_cli::{exit, status};
use ah_model::Error;
use ah_types::TimingPolicy;

use super::program::Program;
use super::signals;
use crate::collect;
use crate::options::Options;
use crate::plan;
use crate::process_group;
use crate::progress::Progress;
use crate::shard::Shard;
use crate::units::seconds;
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
    /// The seed of the inputs: the same seed gives the same inputs
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Rows of the log for each choice on each input; each is the mean of a part of the samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    num_reps: Option<u32>,
    /// Measure exactly the contexts of this file: CSV whose header names the features, or a log
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// Seconds that one step of a choice may take before the choice counts as hung
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    hang_seconds: Duration,
}

impl<F: clap::Args> CollectFlags<F> {
    pub fn run<P: Program<Flags = F>>(self, program: &P) -> Result<u8, Error> {
        let limits = Limits { answer: self.hang_seconds, ..Limits::default() };
        process_group::start_guard();
        let mut workers = program.workers(&self.source, limits)?;
        let Some(worker) = workers.first_mut() else {
            return Err(Error::Usage("there is nothing to measure".to_owned()));
        };
        let listed = self.inputs.as_ref().map(|path| plan::read_inputs(path, worker)).transpose()?;
        let has_limit = listed.is_some() || self.max_seconds.is_some() || self.draws.is_some();
        let options = Options {
            output: self.output,
            num_samples: self.num_samples.or((!has_limit).then_some(NUM_SAMPLES)),
            draws: self.draws,
            max_seconds: self.max_seconds,
            shard: self.shard,
            seed: self.seed,
            policy: policy(worker.experiment.timing, self.num_reps),
            listed,
        };
        let stop = signals::stop_on_signal();
        let summary = collect::collect(&mut workers, &options, &Progress::default(), &stop)?;
        status(&format!("{summary}\nlog: {}\n", options.output.display()));
        Ok(if summary.interrupted { exit::INTERRUPTED } else { exit::SUCCESS })
    }
}

/// The timing policy of a worker, changed by the flags. A row is made of at least two samples.
fn policy(mut policy: TimingPolicy, repetitions: Option<u32>) -> TimingPolicy {
    if let Some(repetitions) = repetitions {
        policy.repetitions = repetitions;
        policy.min_samples = policy.min_samples.max(2 * repetitions);
        policy.max_samples = policy.max_samples.max(2 * repetitions);
    }
    policy
}
