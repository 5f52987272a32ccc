//! Whether a worker speaks the protocol: a script that asks [`Worker`] for everything that it can do.

use std::path::Path;
use std::time::{Duration, Instant};

use ah_measure::sampling::Seed;
use ah_measure::{Bench as _, Burst, Cell, Failure};
use ah_types::{ChoiceId, Context};

use crate::plan;
use crate::units::count;
use crate::worker::{Worker, difference};

/// The time that a worker has to end when its input ends.
const END: Duration = Duration::from_secs(5);
/// The samples of a time that are compared, and the milliseconds that they should fill.
const SAMPLES: u32 = 12;
const FILL_MS: f64 = 24.0;
/// The greatest ratio of samples, and of an answer to the times in it, that noise explains.
const MOST_NOISE: f64 = 50.0;

/// Checks a worker on inputs that it draws or on those of a file, and calls `each` with every finding. `start` starts a
/// process.
///
/// # Errors
/// A fault that leaves nothing to ask; the rest is not checked.
pub fn check(
    start: impl Fn() -> Result<Worker, String>,
    inputs: Option<&Path>,
    each: &mut dyn FnMut(Result<String, String>),
) -> Result<(), String> {
    let mut worker = start()?;
    let experiment = worker.experiment().clone();
    let (name, choices) = (&experiment.optimization.name, experiment.choices.len());
    each(Ok(format!("describe: {name:?}, {}, on {}", count(choices as u64, "choice"), experiment.device)));
    let schema = experiment.optimization.schema().map_err(|e| e.to_string())?;
    let mut second = start()?;
    let listed = inputs.map(|path| plan::read_inputs(path, &mut worker, &schema)).transpose();
    let contexts = match listed.map_err(|e| e.to_string())? {
        Some(contexts) => contexts,
        None => {
            let draw = |worker: &mut Worker| -> Result<Vec<Context>, Failure> {
                (0..8).map(|i| worker.draw(Seed(0, i))).collect()
            };
            let drawn = [draw(&mut worker), draw(&mut worker), draw(&mut second)];
            let [first, again, other] = drawn.map(|d| d.map_err(|e| e.reason().to_owned()));
            let first = first?;
            each(match (again? == first, other? == first, first.iter().all(|c| *c == first[0])) {
                (false, ..) => Err("draw: the same seed gives different inputs".to_owned()),
                (_, false, _) => Err("draw: another process draws other inputs".to_owned()),
                (_, _, true) => Err(format!("draw: eight seeds give one input, {}", first[0])),
                _ => Ok(format!("draw: a seed gives one input, for example {}", first[0])),
            });
            first
        }
    };
    if worker.can("compile") {
        worker.compile(&contexts[..contexts.len().min(2)]);
    }
    for (context, place) in contexts.iter().zip(0..2) {
        each(
            input(&mut worker, context, Seed(0, place))
                .map_err(|e| format!("{}: {e}", worker.label(context))),
        );
    }
    each(match difference(worker.description(), second.description()) {
        Some(what) => Err(format!("restart: a second process describes {what}")),
        None => Ok("restart: a second process describes the same".to_owned()),
    });
    let ends = worker.ends_with_its_input(END) && second.ends_with_its_input(END);
    let late = || format!("end: it goes on {} s after its standard input ended", END.as_secs());
    each(ends.then(|| "end: it ends with its standard input".to_owned()).ok_or_else(late));
    Ok(())
}

/// Checks and times all choices on one input.
fn input(worker: &mut Worker, context: &Context, seed: Seed) -> Result<String, String> {
    worker.accepts(context)?;
    worker.load(context, seed).map_err(|e| e.to_string())?;
    let all: Vec<ChoiceId> = (0..).map(ChoiceId).take(worker.experiment().choices.len()).collect();
    let (mut timed, mut skipped, mut reasons) = (0, 0, Vec::new());
    for choice in all {
        let name = worker.experiment().choices[choice.index()].clone();
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
    let mut time = |samples, runs, cold| {
        let start = Instant::now();
        let times = worker.time(&[Cell { choice, burst: Burst { samples, runs, cold } }]).remove(0)?;
        Ok::<_, Failure>((times, start.elapsed().as_secs_f64() * 1e3))
    };
    time(1, 1, true)?;
    let (first, _) = time(1, 1, false)?;
    let runs = (FILL_MS / f64::from(SAMPLES) / first[0]).clamp(1.0, 10_000.0) as u32;
    let (mut times, elapsed_ms) = time(SAMPLES, runs, false)?;
    if worker.description().simulated {
        return Ok(());
    }
    let sum_ms = times.iter().sum::<f64>() * f64::from(runs);
    times.sort_by(f64::total_cmp);
    let [least, second, last] = [times[0], times[1], times[times.len() - 2]];
    Err(Failure::Failed(match () {
        () if !(least > 0.0 && sum_ms.is_finite()) => format!("a sample took {least} ms"),
        () if last / second > MOST_NOISE => format!("its samples jump from {second} to {last} ms"),
        () if least == times[times.len() - 1] => {
            format!("its {SAMPLES} samples are all {least} ms, as if copied")
        }
        () if elapsed_ms > 5.0 && sum_ms * MOST_NOISE < elapsed_ms => {
            format!(
                "its times make {sum_ms:.3} ms, and the answer took {elapsed_ms:.0} ms; are they milliseconds?"
            )
        }
        () => return Ok(()),
    }))
}
