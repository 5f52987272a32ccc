//! The command line of every collecting program: collect, judge a model, describe a log, list the choices.
//! `ah-collect` itself also merges logs and writes a page about one.
//!
//! A program gives a [`RunnerSource`] and its [`RunFlags`]; [`run`] does the rest. `ah-collect` is such a
//! program for the shipped kernels.

mod flags;
mod listing;
mod merge;
mod progress;
mod report;
mod signals;
mod tables;

use std::path::Path;
use std::sync::atomic::Ordering;

use ah_cli::{exit, status, stdout, warning};
use ah_measure::{Runner, sampling};
use ah_types::log::RandomPart;
use ah_types::{Model, Optimization, log};
use serde_json::json;

use crate::adaptive::usual_random_part;
use crate::describe::{LogFacts, RepeatNoise};
use crate::error::CollectError;
use crate::options::Options;
use crate::worker::{self, Limits};
use crate::{collect, judge, plan, units};

pub use flags::RunFlags;
pub use listing::Listing;
pub use merge::{MergeFlags, merge_logs};
pub use report::{ReportFlags, report_log};
pub use tables::judgement_table;

/// Inputs that a run measures when neither --num-samples nor --max-seconds is given.
const NUM_SAMPLES: u64 = 1000;
/// Inputs that --use-heuristic judges on when --num-samples is not given.
const JUDGED: u64 = 50;
/// The seed of --use-heuristic, so that its inputs are not those of a log collected with the default seed.
const JUDGE_SEED: u64 = 1000;

/// The runners of a program.
pub trait RunnerSource {
    /// Opens one runner for each device. `name` is the optimization of the model to judge.
    fn open(&self, name: Option<&str>, limits: Limits) -> Result<Vec<Box<dyn Runner>>, CollectError>;

    /// Opens the runner of a process that was started as a worker.
    fn open_in_worker(&self) -> Result<Box<dyn Runner>, CollectError>;

    /// Returns the optimization of a log with this name, if it is known.
    fn optimization(&self, name: &str) -> Result<Option<Optimization>, CollectError>;

    /// Returns the work that the winners of a log do in a second, if the program knows the work of an input.
    fn work(&self, log: &log::Log) -> Option<String> {
        let _ = log;
        None
    }

    /// Returns what can be measured.
    fn list(&self) -> Result<Vec<Listing>, CollectError>;
}

/// Runs a command line and returns its [exit code](ah_cli::exit).
pub fn run(source: &dyn RunnerSource, flags: &RunFlags) -> Result<u8, CollectError> {
    if flags.worker {
        signals::ignore();
        // An error here means that the parent is gone: nobody would read a message.
        let _ = worker::serve(source.open_in_worker());
        return Ok(exit::SUCCESS);
    }
    flags.terminal.apply();
    if let Some((log, repeat)) = flags.describe.split_first() {
        return describe(source, log, repeat.first().map(AsRef::as_ref), flags.json);
    }
    if flags.list {
        let list = source.list()?;
        let lines = || list.iter().map(|listing| format!("{listing}\n")).collect();
        stdout(&if flags.json { format!("{}\n", json!(list)) } else { lines() })?;
        return Ok(exit::SUCCESS);
    }
    match &flags.use_heuristic {
        Some(path) => judge_model(source, flags, &Model::read(path)?),
        None => collect_inputs(source, flags),
    }
}

fn collect_inputs(source: &dyn RunnerSource, flags: &RunFlags) -> Result<u8, CollectError> {
    let mut runners = source.open(None, flags.limits())?;
    let Some(runner) = runners.first() else {
        return Err(CollectError::Usage("there is nothing to measure".to_owned()));
    };
    let subject = runner.subject();
    let inputs = match &flags.inputs {
        Some(path) => Some(plan::read_inputs(path, &**runner, &subject.optimization.schema()?)?),
        None => None,
    };
    let unlimited = flags.max_seconds.is_some() || flags.draws.is_some() || inputs.is_some();
    let options = Options {
        seed: flags.seed.unwrap_or(0),
        num_samples: flags.num_samples.or((!unlimited).then_some(NUM_SAMPLES)),
        max_time: flags.max_seconds,
        draws: flags.draws,
        shard: flags.shard,
        inputs,
        ..Options::new(&flags.output, flags.policy(subject.timing))
    };
    let adaptive = flags.adaptive.map(|share| random_part(share, &options));
    let options = Options { adaptive, ..options };
    let stop = signals::stop_on_signal();
    let summary = collect(&mut runners, &options, &stop, &mut progress::Progress::default())?;
    status(&format!("{summary}\nlog: {}\n", flags.output.display()));
    if flags.json {
        stdout(&format!("{}\n", json!({ "log": flags.output, "run": summary })))?;
    }
    Ok(if summary.interrupted { exit::INTERRUPTED } else { exit::SUCCESS })
}

/// Returns the random part with this share, or that of the log that the run continues, or the usual one.
fn random_part(share: Option<f64>, options: &Options) -> RandomPart {
    let continued = || log::read(&[&options.output]).ok()?.metadata.collection?.random_part;
    let listed = options.inputs.as_ref().map(|inputs| inputs.len() as u64);
    // The shards of one sequence need the same part, so all its draws count.
    let inputs = options.num_samples.into_iter().chain(options.draws).chain(listed).min();
    share.map(|share| RandomPart { share }).or_else(continued).unwrap_or_else(|| usual_random_part(inputs))
}

fn describe(
    source: &dyn RunnerSource,
    path: &Path,
    repeat: Option<&Path>,
    json: bool,
) -> Result<u8, CollectError> {
    let log = log::read(&[path])?;
    let optimization = source.optimization(&log.metadata.name)?;
    let facts = LogFacts::of(&log, optimization.as_ref());
    let work = source.work(&log);
    let noise = match repeat {
        None => None,
        Some(repeat) => {
            let noise = RepeatNoise::between(&log, &log::read(&[repeat])?).ok_or_else(|| {
                CollectError::TooLittle(format!("{} and {} share no input", path.display(), repeat.display()))
            });
            Some(noise?)
        }
    };
    if json {
        stdout(&format!("{}\n", json!({ "facts": facts, "work": work, "repeat": noise })))?;
        return Ok(exit::SUCCESS);
    }
    let parts = [Some(facts.to_string()), work, noise.map(|noise| noise.to_string())];
    for part in parts.into_iter().flatten() {
        stdout(&format!("{part}\n"))?;
    }
    Ok(exit::SUCCESS)
}

fn judge_model(source: &dyn RunnerSource, flags: &RunFlags, model: &Model) -> Result<u8, CollectError> {
    let mut runner = source.open(Some(&model.optimization), flags.limits())?.swap_remove(0);
    let subject = runner.subject().clone();
    if let Some(learned_on) = &model.device
        && let Err(mismatch) = learned_on.admits(&subject.device)
    {
        warning(&format!("{mismatch}; these results may not hold on the device that it was learned on"));
    }
    let fallback = model
        .fallback
        .map(|id| model.choice_name(id).to_owned())
        .or_else(|| subject.optimization.fallback_among(&subject.choices).map(str::to_owned))
        .ok_or_else(|| CollectError::Usage("the model has no fallback to compare with".to_owned()))?;
    let references = judge::References { fallback, baseline: flags.baseline.clone() };
    let count = usize::try_from(flags.num_samples.unwrap_or(JUDGED)).unwrap_or(usize::MAX);
    let inputs = match &flags.inputs {
        Some(path) => {
            let contexts = plan::read_inputs(path, &*runner, &subject.optimization.schema()?)?;
            contexts.into_iter().zip((0..).map(|i| sampling::rng(0, i))).collect()
        }
        None => judge::fresh(&*runner, flags.seed.unwrap_or(JUDGE_SEED), count)?,
    };
    let stop = signals::stop_on_signal();
    let inputs = inputs.into_iter().take_while(|_| !stop.load(Ordering::Relaxed));
    let policy = flags.policy(subject.timing);
    let each = |input: &judge::JudgedInput| {
        status(&format!("{}: {} {}\n", input.label, input.winner, units::time(input.winner_ms)));
    };
    let judgement = judge::judge(&mut *runner, inputs, &policy, &references, judge::model(model), each)?;
    let text = if flags.json { judgement.json().to_string() } else { judgement_table(&judgement) };
    stdout(&format!("{text}\n"))?;
    Ok(if stop.load(Ordering::Relaxed) { exit::INTERRUPTED } else { exit::SUCCESS })
}
