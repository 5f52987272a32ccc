//! `ah-collect check-worker`: whether a program speaks the protocol of workers. A script asks [`Worker`], which checks
//! every answer itself.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ah_cli::{exit, printable, stdout};
use ah_measure::sampling::Seed;
use ah_measure::{Experiment, Measurement};
use ah_types::{Context, Outcome, TimingPolicy};

use super::options::seconds;
use crate::error::CollectError;
use crate::units::count;
use crate::worker::{Limits, Named, Worker, difference};
use crate::{plan, process_group};

/// How often an input is timed before its times are a fault: a busy machine must not make a good worker fail.
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
        let (mut lines, mut code) = (Ok(()), exit::SUCCESS);
        let mut each = |finding: Result<String, String>| {
            let line =
                finding.map_or_else(|fault| format!("fault  {fault}"), |found| format!("ok     {found}"));
            code = if line.starts_with("fault") { exit::CHECK_FAILED } else { code };
            if lines.is_ok() {
                lines = stdout(&format!("{}\n", printable(&line)));
            }
        };
        self.check(&mut each).unwrap_or_else(|fault| each(Err(fault)));
        lines?;
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
        if worker.can("compile") {
            worker.compile(contexts.iter().take(2));
        }
        for (context, place) in contexts.iter().zip(0..2) {
            each(input(&mut worker, context, Seed(0, place)).map_err(|e| format!("{context}: {e}")));
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
    let choices = worker.experiment().choices.clone();
    let (max_samples, burst, min_sample_ms) = (SAMPLES, SAMPLES, 2.0);
    let policy = TimingPolicy { max_samples, burst, min_sample_ms, ..TimingPolicy::default() };
    let mut faults = String::new();
    for _ in 0..MOST_TRIES {
        let measured = worker.measure(context, seed, &policy).map_err(|e| e.to_string())?;
        let failed = |(name, outcome): (&String, &Option<Outcome>)| match outcome {
            Some(Outcome::Failed { reason }) => Some(format!("{name:?} failed: {reason}")),
            None => Some(format!("{name:?} has no time, through no fault of its own")),
            _ => None,
        };
        let mut found: Vec<String> = choices.iter().zip(&measured.outcomes).filter_map(failed).collect();
        found.extend(measured.lost.clone());
        let is_noise = found.is_empty();
        if !worker.description().simulated {
            found.extend(implausible(&choices, &measured));
        }
        if found.is_empty() {
            let timed = measured.outcomes.iter().flatten().filter_map(Outcome::median).count();
            let (timed, skipped) = (count(timed as u64, "choice"), choices.len() - timed);
            return Ok(format!("input {context}: {timed} timed, {skipped} skipped"));
        }
        faults = found.join("; ");
        if !is_noise {
            break;
        }
    }
    Err(faults)
}

/// Returns what is wrong with the times of an input.
fn implausible(
    choices: &[String],
    Measurement { outcomes, measuring, kernel_ms, .. }: &Measurement,
) -> Vec<String> {
    let passed_ms = measuring.as_secs_f64() * 1e3;
    if passed_ms > 5.0 && kernel_ms * MOST_NOISE < passed_ms {
        return vec![format!(
            "its times make {kernel_ms:.3} ms, and the answers took {passed_ms:.0} ms; are they milliseconds?"
        )];
    }
    let fault = |(name, outcome): (&String, &Option<Outcome>)| {
        let Some(Outcome::Measured { feedback }) = outcome else { return None };
        let mut times = feedback.clone();
        times.sort_by(f64::total_cmp);
        let [least, second, .., before, most] = times[..] else { return None };
        if before / second > MOST_NOISE {
            return Some(format!("{name:?}: its samples jump from {second} to {before} ms"));
        }
        let copied = least == most && times.len() == SAMPLES as usize;
        copied.then(|| format!("{name:?}: its {SAMPLES} samples are all {least} ms, as if copied"))
    };
    choices.iter().zip(outcomes).filter_map(fault).collect()
}
