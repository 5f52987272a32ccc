//! `ah-collect check-worker`: whether a program speaks the protocol of workers. A script asks [`Worker`], which checks
//! every answer itself.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use ah_cli::{exit, printable, stdout};
use ah_measure::sampling::Seed;
use ah_measure::{Bench as _, Burst, Cell, Failure};
use ah_types::{ChoiceId, Context};

use super::options::seconds;
use crate::error::CollectError;
use crate::units::count;
use crate::worker::{Limits, Named, Worker, difference};
use crate::{plan, process_group};

/// How often a choice is timed before its times are a fault: a busy machine must not make a good worker fail.
const MOST_TRIES: u32 = 3;
/// The time that a worker has to end when its input ends.
const END: Duration = Duration::from_secs(5);
/// The samples of a time that are compared, and the milliseconds that they should fill.
const SAMPLES: u32 = 12;
const FILL_MS: f64 = 24.0;
/// The greatest ratio of samples, and of an answer to the times in it, that noise explains.
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
        let mut worker = self.start()?;
        let experiment = worker.experiment().clone();
        let (name, choices) =
            (&experiment.optimization.name, count(experiment.choices.len() as u64, "choice"));
        each(Ok(format!("describe: {name:?}, {choices}, on {}", experiment.device)));
        let mut second = self.start()?;
        let contexts = if let Some(path) = &self.inputs {
            plan::read_inputs(path, &mut worker).map_err(|e| e.to_string())?
        } else {
            let draw = |worker: &mut Worker| -> Result<Vec<Context>, Failure> {
                (0..8).map(|i| worker.draw(Seed(0, i))).collect()
            };
            let drawn = [draw(&mut worker), draw(&mut worker), draw(&mut second)];
            let [first, again, other] = drawn.map(|drawn| drawn.map_err(|e| e.reason().to_owned()));
            let first = first?;
            each(match (again? == first, other? == first, first.iter().all(|c| *c == first[0])) {
                (false, ..) => Err("draw: the same seed gives different inputs".to_owned()),
                (_, false, _) => Err("draw: another process draws other inputs".to_owned()),
                (_, _, true) => Err(format!("draw: eight seeds give one input, {}", first[0])),
                _ => Ok(format!("draw: a seed gives one input, for example {}", first[0])),
            });
            first
        };
        if worker.can("compile") {
            worker.compile(&contexts[..contexts.len().min(2)]);
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

/// Checks and times all choices on one input.
fn input(worker: &mut Worker, context: &Context, seed: Seed) -> Result<String, String> {
    worker.accepts(context)?;
    worker.load(context, seed).map_err(|e| e.to_string())?;
    let (mut timed, mut skipped, mut reasons) = (0, 0, Vec::new());
    for (choice, name) in (0..).map(ChoiceId).zip(worker.experiment().choices.clone()) {
        match times(worker, choice) {
            Ok(()) => timed += 1,
            Err(Failure::Skipped(_)) => skipped += 1,
            Err(failure) => reasons.push(format!("{name:?} {failure}")),
        }
    }
    match reasons.is_empty() {
        true => Ok(format!("input {context}: {} timed, {skipped} skipped", count(timed, "choice"))),
        false => Err(reasons.join("; ")),
    }
}

/// Checks and times one choice.
fn times(worker: &mut Worker, choice: ChoiceId) -> Result<(), Failure> {
    worker.check(&[choice]).remove(0)?;
    let mut fault = None;
    for _ in 0..MOST_TRIES {
        fault = implausible(worker, choice)?;
        if fault.is_none() {
            return Ok(());
        }
    }
    Err(Failure::Failed(fault.unwrap_or_default()))
}

/// Times one choice. Returns what is wrong with its times.
fn implausible(worker: &mut Worker, choice: ChoiceId) -> Result<Option<String>, Failure> {
    let mut time =
        |samples, runs, cold| worker.time(&[Cell { choice, burst: Burst { samples, runs, cold } }]).remove(0);
    time(1, 1, true)?;
    let runs = (FILL_MS / f64::from(SAMPLES) / time(1, 1, false)?[0]).clamp(1.0, 10_000.0) as u32;
    let start = Instant::now();
    let mut times = time(SAMPLES, runs, false)?;
    let (elapsed_ms, sum_ms) =
        (start.elapsed().as_secs_f64() * 1e3, times.iter().sum::<f64>() * f64::from(runs));
    times.sort_by(f64::total_cmp);
    let [least, second, last] = [times[0], times[1], times[times.len() - 2]];
    Ok(match () {
        () if worker.description().simulated => None,
        () if !(least > 0.0 && sum_ms.is_finite()) => Some(format!("a sample took {least} ms")),
        () if last / second > MOST_NOISE => Some(format!("its samples jump from {second} to {last} ms")),
        () if least == times[times.len() - 1] => {
            Some(format!("its {SAMPLES} samples are all {least} ms, as if copied"))
        }
        () if elapsed_ms > 5.0 && sum_ms * MOST_NOISE < elapsed_ms => Some(format!(
            "its times make {sum_ms:.3} ms, and the answer took {elapsed_ms:.0} ms; are they milliseconds?"
        )),
        () => None,
    })
}
