//! `ah-collect check-worker`: whether a program speaks the protocol of workers. A script asks [`Worker`], which checks
//! every answer itself.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ah_cli::{exit, stdout};
use ah_measure::Experiment;
use ah_measure::sampling::Seed;
use ah_types::{Context, Outcome, TimingPolicy};

use super::options::seconds;
use crate::error::CollectError;
use crate::units::count;
use crate::worker::{Limits, Named, Worker, difference};
use crate::{plan, process_group};

/// How often an input is measured before its times are a fault: a busy machine must not make a good worker fail.
const MOST_TRIES: u32 = 3;
/// The time that a worker has to end when its input ends.
const END: Duration = Duration::from_secs(5);
/// The samples of a choice that are compared.
const SAMPLES: u32 = 12;
/// The greatest ratio of samples, and of the time that passed to the times in the answers, that noise explains.
const MOST_NOISE: f64 = 50.0;

/// The flags of `ah-collect check-worker`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  A worker in Python:\n    ah-collect check-worker -- python3 worker.py")]
pub(super) struct CheckWorkerFlags {
    /// Ask about the contexts of this file: CSV whose header names the features, or a log
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// Seconds that the worker may take for a line
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    hang_seconds: Duration,
    /// The worker: a program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl CheckWorkerFlags {
    pub fn run(self) -> Result<u8, CollectError> {
        process_group::start_guard();
        let (mut printed, mut code) = (Ok(()), exit::SUCCESS);
        let mut each = |finding: Result<String, String>| {
            code = if finding.is_ok() { code } else { exit::CHECK_FAILED };
            let line =
                finding.map_or_else(|fault| format!("fault  {fault}\n"), |found| format!("ok     {found}\n"));
            printed = std::mem::replace(&mut printed, Ok(())).and_then(|()| stdout(&line));
        };
        self.check(&mut each).unwrap_or_else(|fault| each(Err(fault)));
        printed?;
        Ok(code)
    }

    fn start(&self) -> Result<Worker, String> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let limits = Limits { answer: self.hang_seconds, ..Limits::default() };
        // A worker without a name gets it from --name later.
        Worker::start(command, limits, Named::Unless("unnamed".to_owned()), true).map_err(|e| e.to_string())
    }

    /// Calls `each` with every finding. An error is a fault that leaves nothing to ask.
    fn check(&self, each: &mut dyn FnMut(Result<String, String>)) -> Result<(), String> {
        let (mut worker, mut second) = (self.start()?, self.start()?);
        let Experiment { optimization, choices, device, .. } = worker.experiment();
        let choices = count(choices.len() as u64, "choice");
        each(Ok(format!("describe: {:?}, {choices}, on {device}", optimization.name)));
        let contexts = if let Some(path) = &self.inputs {
            plan::read_inputs(path, &mut worker).map_err(|e| e.to_string())?
        } else {
            let draw = |worker: &mut Worker| -> Result<Vec<Context>, String> {
                (0..8).map(|i| worker.draw(Seed(0, i)).map_err(|e| e.reason().to_owned())).collect()
            };
            let (first, again, other) = (draw(&mut worker)?, draw(&mut worker)?, draw(&mut second)?);
            each(match (again == first, other == first, first.iter().all(|c| *c == first[0])) {
                (false, ..) => Err("draw: the same seed gives different inputs".to_owned()),
                (_, false, _) => Err("draw: another process draws other inputs".to_owned()),
                (_, _, true) => Err(format!("draw: eight seeds give one input, {}", first[0])),
                _ => Ok(format!("draw: a seed gives one input, for example {}", first[0])),
            });
            first
        };
        if worker.experiment().compiles_ahead {
            worker.compile(contexts.iter().take(2));
        }
        for (context, place) in contexts.iter().zip(0..2) {
            let mut try_once = || input(&mut worker, context, Seed(0, place));
            let tried = (1..MOST_TRIES).fold(try_once(), |found, _| found.or_else(|_| try_once()));
            each(tried.map_err(|e| format!("{context}: {e}")));
        }
        each(match difference(worker.description(), second.description()) {
            Some(what) => Err(format!("restart: a second process describes {what}")),
            None => Ok("restart: a second process describes the same".to_owned()),
        });
        each(match worker.ends_with_its_input(END) && second.ends_with_its_input(END) {
            true => Ok("end: it ends with its standard input".to_owned()),
            false => Err(format!("end: it goes on {} s after its standard input ended", END.as_secs())),
        });
        Ok(())
    }
}

/// Measures all choices on one input, a dozen samples of each in one request.
fn input(worker: &mut Worker, context: &Context, seed: Seed) -> Result<String, String> {
    worker.accepts(context)?;
    let (max_samples, burst, min_sample_ms) = (SAMPLES, SAMPLES, 2.0);
    let policy = TimingPolicy { max_samples, burst, min_sample_ms, ..TimingPolicy::default() };
    let measured = worker.measure(context, seed, &policy).map_err(|e| e.to_string())?;
    let Experiment { choices, simulated, .. } = worker.experiment();
    let fault = |(name, outcome): (&String, &Option<Outcome>)| match outcome {
        Some(Outcome::Failed { reason }) => Some(format!("{name:?} failed: {reason}")),
        None => Some(format!("{name:?} has no time, through no fault of its own")),
        Some(Outcome::Measured { feedback }) if !simulated => {
            Some(format!("{name:?}: {}", implausible(feedback)?))
        }
        _ => None,
    };
    let found = choices.iter().zip(&measured.outcomes).filter_map(fault);
    let mut found: Vec<String> = found.chain(measured.lost.clone()).collect();
    let (passed_ms, timed_ms) = (measured.measuring.as_secs_f64() * 1e3, measured.kernel_ms);
    if !simulated && passed_ms > 5.0 && timed_ms * MOST_NOISE < passed_ms {
        let passed = format!("and the answers took {passed_ms:.0} ms; are they milliseconds?");
        found.push(format!("its times make {timed_ms:.3} ms, {passed}"));
    }
    if !found.is_empty() {
        return Err(found.join("; "));
    }
    let timed = measured.outcomes.iter().flatten().filter_map(Outcome::median).count();
    Ok(format!("input {context}: {} timed, {} skipped", count(timed as u64, "choice"), choices.len() - timed))
}

/// Returns what is wrong with the samples of a choice.
fn implausible(samples: &[f64]) -> Option<String> {
    let mut times = samples.to_vec();
    times.sort_by(f64::total_cmp);
    let [least, second, .., before, most] = times[..] else { return None };
    if before / second > MOST_NOISE {
        return Some(format!("its samples jump from {second} to {before} ms"));
    }
    let copied = least == most && times.len() == SAMPLES as usize;
    copied.then(|| format!("its {SAMPLES} samples are all {least} ms, as if copied"))
}
