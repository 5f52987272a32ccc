//! `ah-collect check-worker`: a script for [`Worker`], which checks every answer itself.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ah_cli::{exit, stdout};
use ah_measure::{Experiment, Failure, interval::median_interval, sampling::Seed};
use ah_types::{Context, Error, Outcome, TimingPolicy};

use super::options::seconds;
use crate::plan::read_inputs;
use crate::process_group::start_guard;
use crate::worker::{Limits, Named, Worker};

/// The greatest ratio of samples, and of the time that passed to the times in the answers, that noise explains.
const MOST_NOISE: f64 = 50.0;

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
        let fatal = self.check(&mut found).err();
        found.extend(fatal.map(|fault| format!("fault  {fault}")));
        stdout(&(found.join("\n") + "\n"))?;
        let is_right = found.iter().all(|line| line.starts_with("ok "));
        Ok(if is_right { exit::SUCCESS } else { exit::CHECK_FAILED })
    }

    /// Adds a line for every finding. An error is a fault that leaves nothing to ask.
    fn check(&self, found: &mut Vec<String>) -> Result<(), Error> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let limits = Limits { answer: self.hang_seconds, ..Limits::default() };
        // A worker without a name gets it from --name later.
        let named = Named::ByWorker(Some("unnamed".to_owned()));
        let mut worker = Worker::start(command, limits, named, true)?;
        let name = worker.description.name.as_deref().unwrap_or("unnamed");
        let Experiment { choices, device, .. } = &worker.experiment;
        found.push(format!("ok     describe: {name:?}, {} choices, on {device}", choices.len()));
        let fatal = |failure: Failure| Error::Device(failure.reason().to_owned());
        let contexts: Vec<Context> = match &self.inputs {
            Some(path) => read_inputs(path, &mut worker)?,
            None => (0..8).map(|i| worker.draw(Seed(0, i))).collect::<Result<_, _>>().map_err(fatal)?,
        };
        worker.compile(contexts.iter().take(2));
        for context in contexts.iter().take(2) {
            found.push(match measure(&mut worker, context) {
                Ok(timed) => format!("ok     input {context}: {timed}"),
                Err(fault) => format!("fault  input {context}: {fault}"),
            });
        }
        found.push(match worker.ends_with_its_input(self.hang_seconds) {
            true => "ok     end: it ends with its standard input".to_owned(),
            false => format!("fault  end: it goes on {:?} after its standard input ended", self.hang_seconds),
        });
        worker.replace().map_err(fatal)?;
        // The last draw of the other process, and the first of this one: only the seed may matter.
        let same = self.inputs.is_some() || worker.draw(Seed(0, 7)).map_err(fatal)? == contexts[7];
        found.push(match same {
            true => "ok     restart: a second process describes and draws the same".to_owned(),
            false => "fault  draw: another process draws other inputs from the same seeds".to_owned(),
        });
        Ok(())
    }
}

/// Measures all choices on one input, a dozen samples of each in one request.
fn measure(worker: &mut Worker, context: &Context) -> Result<String, String> {
    let policy = TimingPolicy { max_samples: 12, burst: 12, min_sample_ms: 2.0, ..TimingPolicy::default() };
    let measured = worker.measure(context, Seed(0, 0), &policy).map_err(|failure| failure.to_string())?;
    let Experiment { choices, simulated, .. } = &worker.experiment;
    let fault = |(name, outcome): (&String, &Outcome)| match outcome {
        Ok(feedback) if !simulated => {
            let (low, high) = median_interval(feedback)?;
            let (is_copy, samples) = (feedback.iter().all(|ms| *ms == low), feedback.len());
            let copied = is_copy.then(|| format!("its {samples} samples are all {low} ms, as if copied"));
            let jumps =
                (high > low * MOST_NOISE).then(|| format!("its samples jump from {low} to {high} ms"));
            Some(format!("{name:?}: {}", copied.or(jumps)?))
        }
        Err(Failure::Failed(reason)) => Some(format!("{name:?} failed: {reason}")),
        Ok(_) | Err(Failure::Skipped(_)) => None,
        Err(_) => Some(format!("{name:?} has no time, through no fault of its own")),
    };
    let faults = choices.iter().zip(&measured.outcomes).filter_map(fault);
    let mut faults: Vec<String> = faults.chain(measured.lost.clone()).collect();
    let (passed_ms, timed_ms) = (measured.measuring.as_secs_f64() * 1e3, measured.kernel_ms);
    if !simulated && passed_ms > 5.0 && timed_ms * MOST_NOISE < passed_ms {
        faults.push(format!("its times make {timed_ms:.3} of {passed_ms:.0} ms; are they milliseconds?"));
    }
    let timed = measured.outcomes.iter().flatten().count();
    let found = format!("{timed} choices timed, {} skipped", choices.len() - timed);
    if faults.is_empty() { Ok(found) } else { Err(faults.join("; ")) }
}
