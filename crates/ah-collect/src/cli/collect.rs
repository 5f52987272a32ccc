//! `ah-collect collect`: measures and appends to a log.

use std::path::PathBuf;
use std::time::Duration;

use ah_cli::{exit, status, stdout};
use ah_types::log::{self, RandomPart};
use serde_json::json;

use super::flags::{MeasureFlags, seconds};
use super::progress::Progress;
use super::signals;
use super::source::Program;
use crate::adaptive::default_random_part;
use crate::collect;
use crate::error::CollectError;
use crate::options::Options;
use crate::plan::{self, Shard};

/// Inputs that a run measures without a limit of its own.
const NUM_SAMPLES: u64 = 1000;

/// The flags of `ah-collect collect`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  Measure for two minutes:\n    ah-collect collect --max-seconds 120")]
pub(super) struct CollectFlags<F: clap::Args> {
    #[command(flatten)]
    pub source: F,
    /// The log to append to
    #[arg(long, short, default_value = "train.txt", value_name = "FILE")]
    output: PathBuf,
    /// Measure until the log holds N inputs [default: 1000, or no limit with --max-seconds or --draws]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub num_samples: Option<u64>,
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
    #[command(flatten)]
    pub measure: MeasureFlags,
}

fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "expected a share between 0 and 1, for example 0.1".to_owned())
}

impl<F: clap::Args> CollectFlags<F> {
    pub fn run<P: Program<Flags = F>>(self, program: &P) -> Result<u8, CollectError> {
        let Self { source, measure, .. } = self;
        let mut runners = program.source(source, None)?.open(measure.limits())?;
        let Some(runner) = runners.first() else {
            return Err(CollectError::Usage("there is nothing to measure".to_owned()));
        };
        let subject = runner.subject();
        let inputs = match &measure.inputs {
            Some(path) => Some(plan::read_inputs(path, &**runner, &subject.optimization.schema()?)?),
            None => None,
        };
        let unlimited = self.max_seconds.is_some() || self.draws.is_some() || inputs.is_some();
        let mut options = Options {
            seed: measure.seed.unwrap_or(0),
            num_samples: self.num_samples.or((!unlimited).then_some(NUM_SAMPLES)),
            max_time: self.max_seconds,
            draws: self.draws,
            shard: self.shard,
            inputs,
            ..Options::new(&self.output, measure.policy(subject.timing, self.adaptive.is_some()))
        };
        options.adaptive = self.adaptive.is_some();
        options.random_part = self.adaptive.and_then(|share| random_part(share, &options, &subject.choices));
        let stop = signals::stop_on_signal();
        let summary = collect(&mut runners, &options, &stop, &mut Progress::default())?;
        status(&format!("{summary}\nlog: {}\n", options.output.display()));
        if measure.json {
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
