//! Whether a worker speaks the protocol: asks it every request that it answers.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ah_measure::sampling::Seed;
use ah_measure::{Burst, Runner as _};
use ah_types::Context;

use super::description::Named;
use super::link::{Link, describe, difference};
use super::parent::{Worker, possible};
use super::process::{Limits, Process};
use super::protocol::{Answer, Description, Request, WireCell, WireContext, WireGroup};
use crate::plan;
use crate::units::count;

/// The time that a worker has to end when its input ends.
const END: Duration = Duration::from_secs(5);
/// The draws that should not all be alike.
const DRAWS: u64 = 8;
/// The name of a worker that describes none.
const NAME: &str = "unnamed";

/// The result of a check: what was found, or the fault.
pub type Finding = Result<String, String>;

/// Checks the worker that `command` starts, on inputs that it draws or on those of a file, and calls `each` with every
/// finding. After a fault that leaves nothing to ask, the rest is not checked.
pub fn check(
    command: impl Fn() -> Command,
    limits: Limits,
    inputs: Option<&Path>,
    each: &mut dyn FnMut(Finding),
) {
    if let Err(fault) =
        Session::begin(&command, limits, inputs, each).and_then(|session| session.run(&command, each))
    {
        each(Err(fault));
    }
}

/// A process under test.
struct Session {
    process: Process,
    limits: Limits,
    description: Description,
    contexts: Vec<(Context, Seed)>,
}

impl Session {
    fn begin(
        command: &impl Fn() -> Command,
        limits: Limits,
        inputs: Option<&Path>,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Self, String> {
        let mut process = Process::start(&mut command(), true)?;
        let mut description =
            describe(&mut process, limits).map_err(|failure| failure.reason().to_owned())?;
        description.name.get_or_insert_with(|| NAME.to_owned());
        let subject = description.subject(Named::ByWorker)?;
        ah_measure::check_eligibility(&subject.optimization)?;
        each(Ok(format!(
            "describe: {:?}, {}, {}, on {}",
            subject.optimization.name,
            count(subject.choices.len() as u64, "choice"),
            count(description.features.len() as u64, "feature"),
            subject.device
        )));
        // The same program as a runner draws and reads inputs.
        let runner = Worker::over(
            Link::new(command(), limits, true),
            Named::Optimization(Box::new(subject.optimization.clone())),
        )
        .map_err(|e| e.to_string())?;
        let contexts: Vec<(Context, Seed)> = match inputs {
            Some(path) => {
                let schema = subject.optimization.schema().map_err(|e| e.to_string())?;
                let contexts = plan::read_inputs(path, &runner, &schema).map_err(|e| e.to_string())?;
                contexts.into_iter().take(2).zip((0..).map(|i| Seed(0, i))).collect()
            }
            None => {
                let draw =
                    |i| runner.draw(Seed(0, i)).map_err(|failure| format!("draw: {}", failure.reason()));
                let drawn: Vec<Context> = (0..DRAWS).map(draw).collect::<Result<_, _>>()?;
                if draw(0)? != drawn[0] {
                    return Err(format!("draw: the seed [0, 0] gave {} and then {}", drawn[0], draw(0)?));
                }
                if drawn.iter().all(|context| *context == drawn[0]) {
                    return Err(format!("draw: {DRAWS} seeds gave the same input: {}", drawn[0]));
                }
                each(Ok(format!("draw: the same seed gives the same input, for example {}", drawn[0])));
                drawn.into_iter().take(2).zip((0..).map(|i| Seed(0, i))).collect()
            }
        };
        Ok(Self { process, limits, description, contexts })
    }

    fn run(mut self, command: &impl Fn() -> Command, each: &mut dyn FnMut(Finding)) -> Result<(), String> {
        let wire: Vec<WireContext> = self.contexts.iter().map(|(context, _)| context.into()).collect();
        for context in &wire {
            if self.can("accept") {
                self.ask(Request::Accept { context: context.clone() })?;
            }
            if self.can("label") {
                self.ask(Request::Label { context: context.clone() })?
                    .field("label")
                    .map_err(|e| format!("label: {e}"))?;
            }
        }
        if self.can("compile") {
            let groups = vec![WireGroup { contexts: wire.clone(), choices: None }];
            self.ask(Request::Compile { groups })?;
            each(Ok("compile: answered".to_owned()));
        }
        let seeds: Vec<Seed> = self.contexts.iter().map(|(_, seed)| *seed).collect();
        for (context, seed) in wire.into_iter().zip(seeds) {
            each(self.input(context, seed));
        }
        if self.can("release") {
            self.ask(Request::Release)?;
        }
        let mut second = Process::start(&mut command(), true)?;
        let again = describe(&mut second, self.limits).map_err(|failure| failure.reason().to_owned())?;
        each(match difference(&self.description, &again) {
            Some(what) => Err(format!("restart: a second process describes {what}")),
            None => Ok("restart: a second process describes the same".to_owned()),
        });
        for process in [self.process, second] {
            if !process.ends_with_its_input(END) {
                return Err(format!("end: it goes on {} s after its standard input ended", END.as_secs()));
            }
        }
        each(Ok("end: it ends with its standard input".to_owned()));
        Ok(())
    }

    fn can(&self, request: &str) -> bool {
        self.description.can.contains(request)
    }

    fn ask(&mut self, request: Request) -> Result<Answer, String> {
        let name = request.name();
        let answer = self.process.send(request).and_then(|()| self.process.receive(self.limits.answer));
        let answer = answer.map_err(|fault| format!("{name}: {fault}"))?;
        match answer.failure() {
            Some(failure) => Err(format!("{name}: {failure}")),
            None => Ok(answer),
        }
    }

    /// Checks and times all choices on one input.
    fn input(&mut self, context: WireContext, seed: Seed) -> Finding {
        let shown = serde_json::to_string(&context).unwrap_or_default();
        self.ask(Request::Prepare { context, seed })?;
        let mut right = self.description.choices.clone();
        let (mut skipped, mut failed) = (0, 0);
        if self.can("check") {
            let cell = |choice: &String| WireCell { choice: choice.clone(), burst: None };
            let cells: Vec<WireCell> = right.iter().map(cell).collect();
            let answers = self.cells(&cells, |cells| Request::Check { cells })?;
            right = Vec::new();
            for (cell, answer, _) in answers {
                match answer.failure() {
                    None => right.push(cell.choice),
                    Some(ah_measure::Failure::Skipped(_)) => skipped += 1,
                    Some(_) => failed += 1,
                }
            }
        }
        let Some(first) = right.first().cloned() else {
            return Err(format!("check: on {shown}, none of the choices is offered and right"));
        };
        let timed = |choice: String, samples, runs, cold| WireCell {
            choice,
            burst: Some(Burst { samples, runs, cold }),
        };
        let mut cells: Vec<WireCell> =
            right.iter().map(|choice| timed(choice.clone(), 1, 1, false)).collect();
        cells.extend([timed(first.clone(), 3, 2, false), timed(first, 1, 1, true)]);
        for (cell, answer, elapsed_ms) in self.cells(&cells, |cells| Request::Time { cells })? {
            if answer.failure().is_some() {
                continue;
            }
            let burst = cell.burst.unwrap_or(Burst { samples: 1, runs: 1, cold: false });
            let wrong = |fault: String| format!("time: {:?}: {fault}", cell.choice);
            let times = answer.times(burst.samples).map_err(wrong)?;
            if let Some(bad) = times.iter().find(|ms| !(ms.is_finite() && **ms > 0.0)) {
                return Err(wrong(format!("a sample took {bad} ms")));
            }
            if !self.description.simulated {
                possible(&times, burst.runs, elapsed_ms).map_err(wrong)?;
            }
        }
        Ok(format!(
            "input {shown}: {} timed, {skipped} skipped, {failed} failed",
            count(right.len() as u64, "choice")
        ))
    }

    /// Asks about cells, a batch at a time. Returns each with its answer and the milliseconds that its batch took.
    fn cells(
        &mut self,
        cells: &[WireCell],
        request: fn(Vec<WireCell>) -> Request,
    ) -> Result<Vec<(WireCell, Answer, f64)>, String> {
        let mut answered = Vec::new();
        for batch in cells.chunks(self.description.batch.max(1)) {
            let start = Instant::now();
            let mut answers = vec![None; batch.len()];
            let request = request(batch.to_vec());
            let name = request.name();
            let asked = self.process.ask_cells(request, &mut answers, self.limits.answer);
            asked.map_err(|fault| format!("{name}: {fault}"))?;
            let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
            let answers = batch.iter().cloned().zip(answers.into_iter().flatten());
            answered.extend(answers.map(|(cell, answer)| (cell, answer, elapsed_ms)));
        }
        Ok(answered)
    }
}
