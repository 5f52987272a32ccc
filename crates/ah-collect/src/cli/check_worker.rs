//! `ah-collect check-worker`: a script for [`Worker`], which checks every answer itself.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ah_cli::{exit, stdout};
use ah_measure::protocol::Description;
use ah_measure::{Failure, Measurement, interval::median_interval, sampling::Seed};
use ah_model::{Context, Error};
use ah_types::{Outcome, TimingPolicy};

use crate::plan::read_inputs;
use crate::process_group::start_guard;
use crate::units::seconds;
use crate::worker::{Named, Worker};

/// The flags of `ah-collect check-worker`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  A worker in Python:\n    ah-collect check-worker -- python3 worker.py")]
pub(super) struct CheckWorkerFlags {
    /// Ask about the contexts of this file: CSV whose header names the features, or a log
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// Seconds that the worker may take for a line, and to end
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    hang_seconds: Duration,
    /// The worker: a program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl CheckWorkerFlags {
    pub fn run(self) -> Result<u8, Error> {
        start_guard();
        let mut found = Vec::new();
        let fatal = self.check(&mut found);
        found.extend(fatal.err().map(|fault| Err(fault.to_string())));
        let line = |finding: &Result<String, String>| match finding {
            Ok(text) => format!("ok     {text}\n"),
            Err(text) => format!("fault  {text}\n"),
        };
        stdout(&found.iter().map(line).collect::<String>())?;
        Ok(if found.iter().all(Result::is_ok) { exit::SUCCESS } else { exit::CHECK_FAILED })
    }

    /// Adds every finding. An error is a fault that leaves nothing to ask.
    fn check(&self, found: &mut Vec<Result<String, String>>) -> Result<(), Error> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        // A worker without a name gets it from --name later.
        let named = Named::ByWorker(Some("unnamed".to_owned()));
        let mut worker = Worker::start(command, self.hang_seconds, named)?;
        let name = worker.description.name.as_deref().unwrap_or("unnamed");
        let count = worker.description.choices.len();
        found.push(Ok(format!("describe: {name:?}, {count} choices, on {}", worker.device)));
        let fatal = |failure: Failure| Error::Device(failure.reason().to_owned());
        let contexts: Vec<Context> = match &self.inputs {
            Some(path) => read_inputs(path, &mut worker)?,
            None => (0..8).map(|i| worker.draw(Seed(0, i))).collect::<Result<_, _>>().map_err(fatal)?,
        };
        worker.compile(contexts.iter().take(2));
        // A dozen samples of each choice in one request.
        let policy = TimingPolicy { max_samples: 12, burst: 12, min_sample_ms: 2.0, ..Default::default() };
        for context in contexts.iter().take(2) {
            let measured = worker.measure(context, Seed(0, 0), &policy);
            let about = |text| format!("input {context}: {text}");
            found.push(plausible(measured, &worker.description).map(about).map_err(about));
        }
        found.push(match worker.ends_with_its_input(self.hang_seconds) {
            true => Ok("end: it ends with its standard input".to_owned()),
            false => Err(format!("end: it goes on {:?} after its standard input ended", self.hang_seconds)),
        });
        worker.replace().map_err(fatal)?;
        // The last draw of the other process, and the first of this one: only the seed may matter.
        let same = self.inputs.is_some() || worker.draw(Seed(0, 7)).map_err(fatal)? == contexts[7];
        found.push(match same {
            true => Ok("restart: a second process describes and draws the same".to_owned()),
            false => Err("draw: another process draws other inputs from the same seeds".to_owned()),
        });
        Ok(())
    }
}

/// The greatest ratio of samples, and of the time that passed to the times in the answers, that noise explains.
const MOST_NOISE: f64 = 50.0;

/// The number of choices that were timed, or the fault: a choice that failed, samples that no clock gives.
fn plausible(measured: Result<Measurement, Failure>, described: &Description) -> Result<String, String> {
    let measured = measured.map_err(|failure| failure.to_string())?;
    let Description { choices, simulated, .. } = described;
    let doubt = |(name, outcome): (&String, &Outcome)| match outcome {
        Ok(feedback) if !simulated => {
            let (low, high) = median_interval(feedback)?;
            let is_copy = feedback.iter().all(|ms| *ms == low);
            let samples = feedback.len();
            let copied = is_copy.then(|| format!("its {samples} samples are all {low} ms, as if copied"));
            let jumps =
                (high > low * MOST_NOISE).then(|| format!("its samples jump from {low} to {high} ms"));
            Some(format!("{name:?}: {}", copied.or(jumps)?))
        }
        Err(Failure::Failed(reason)) => Some(format!("{name:?} failed: {reason}")),
        Ok(_) | Err(Failure::Skipped(_)) => None,
        Err(failure) => Some(format!("{name:?}: {failure}")),
    };
    let doubts = choices.iter().zip(&measured.outcomes).filter_map(doubt);
    let mut doubts: Vec<String> = doubts.chain(measured.lost).collect();
    let passed_ms = measured.measuring.as_secs_f64() * 1e3;
    let timed_ms = measured.kernel_ms;
    if !simulated && passed_ms > 5.0 && timed_ms * MOST_NOISE < passed_ms {
        doubts.push(format!("its times make {timed_ms:.3} of {passed_ms:.0} ms; are they milliseconds?"));
    }
    let timed = measured.outcomes.iter().flatten().count();
    let found = format!("{timed} choices timed, {} skipped", choices.len() - timed);
    if doubts.is_empty() { Ok(found) } else { Err(doubts.join("; ")) }
}
