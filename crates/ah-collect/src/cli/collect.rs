//! `ah-collect collect`: measures and appends to a log.

use std::path::PathBuf;
use std::time::Duration;

use ah_cli::{exit, status, stdout};
use ah_types::TimingPolicy;
use ah_types::log::{self, RandomPart};
use serde_json::json;

use super::progress::Progress;
use super::signals;
use super::source::Program;
use crate::adaptive::default_random_part;
use crate::collect;
use crate::error::CollectError;
use crate::options::Options;
use crate::plan::{self, Shard};
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
    /// Leave out choices that the times so far show to be slow; on a random SHARE of the inputs, time every choice
    /// [default: the log's, or as many inputs as a promise of 1 % needs, at least 10 % and at most 50 %; none for
    /// more than 32 choices with fields such as BLOCK=64_warps=4]
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, value_parser = share)]
    adaptive: Option<Option<f64>>,
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

/// With --adaptive, a choice stops early when it is this many times as slow as the best: further samples show
/// how slow it is, but it does not win.
const ADAPTIVE_EARLY_STOP: f64 = 1.2;

/// With --adaptive, the most samples of a choice, or one for each row if that is more: where six samples do not
/// separate two choices, taking the wrong one costs little.
const ADAPTIVE_SAMPLES: u32 = 6;

/// Reads a number of seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "expected a share between 0 and 1, for example 0.1".to_owned())
}

impl<F: clap::Args> CollectFlags<F> {
    pub fn run<P: Program<Flags = F>>(self, program: &P) -> Result<u8, CollectError> {
        let limits = Limits { answer: self.hang_seconds, ..Limits::default() };
        let mut runners = program.source(self.source)?.open(limits)?;
        let Some(runner) = runners.first() else {
            return Err(CollectError::Usage("there is nothing to measure".to_owned()));
        };
        let subject = runner.subject();
        let inputs = match &self.inputs {
            Some(path) => Some(plan::read_inputs(path, &**runner, &subject.optimization.schema()?)?),
            None => None,
        };
        let unlimited = self.max_seconds.is_some() || self.draws.is_some() || inputs.is_some();
        let mut options = Options {
            seed: self.seed,
            num_samples: self.num_samples.or((!unlimited).then_some(NUM_SAMPLES)),
            max_time: self.max_seconds,
            draws: self.draws,
            shard: self.shard,
            inputs,
            ..Options::new(&self.output, policy(subject.timing, self.num_reps, self.adaptive.is_some()))
        };
        options.adaptive = self.adaptive.is_some();
        options.random_part = self.adaptive.and_then(|share| random_part(share, &options, &subject.choices));
        let stop = signals::stop_on_signal();
        let summary = collect(&mut runners, &options, &stop, &mut Progress::default())?;
        status(&format!("{summary}\nlog: {}\n", options.output.display()));
        if self.json {
            stdout(&format!("{}\n", json!({ "log": options.output, "run": summary })))?;
        }
        Ok(if summary.interrupted { exit::INTERRUPTED } else { exit::SUCCESS })
    }
}

/// Returns the random part with this share, or that of the log that the run continues, or the default one.
fn random_part(share: Option<f64>, options: &Options, choices: &[String]) -> Option<RandomPart> {
    let continued = || log::read(&[&options.output]).ok()?.metadata.collection?.random_part;
    let listed = options.inputs.as_ref().map(|inputs| inputs.len() as u64);
    // The shards of one sequence need the same part, so all its draws count.
    let inputs = options.num_samples.into_iter().chain(options.draws).chain(listed).min();
    let default = || default_random_part(choices, inputs);
    share.map(|share| RandomPart { share }).or_else(continued).or_else(default)
}

/// Returns the timing policy of a runner, changed by the flags.
fn policy(mut policy: TimingPolicy, repetitions: Option<u32>, is_adaptive: bool) -> TimingPolicy {
    if let Some(repetitions) = repetitions {
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
