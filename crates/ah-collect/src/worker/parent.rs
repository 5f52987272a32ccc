//! The parent's side of a worker process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ah_measure::sampling::Seed;
use ah_measure::{Bench, Burst, Cell, Failure, Planned, Runner, Subject, Times};
use ah_types::{ChoiceId, Context, Schema};

use super::description::Named;
use super::link::Link;
use super::protocol::{Answer, Description, Request, WireCell, WireContext, WireGroup};
use crate::custom::drawn::{self, Draw};
use crate::error::CollectError;

/// The inputs that a worker compiles for at once.
const LOOK_AHEAD: usize = 100;
/// A time may exceed the time that its answer took by this factor: two clocks differ a little.
const CLOCKS_DIFFER: f64 = 1.1;

/// A runner in a process of its own; see the [module](super).
pub struct Worker {
    subject: Subject,
    schema: Schema,
    description: Description,
    /// How features are drawn, in their order; `None`: the worker draws.
    draws: Option<Vec<Option<Draw>>>,
    /// Behind a lock, because drawing and labelling take `&self`.
    link: Mutex<Link>,
}

impl Worker {
    /// Starts the process of `link`.
    pub(super) fn over(mut link: Link, named: Named) -> Result<Self, CollectError> {
        let description = link.start().map_err(|failure| match failure {
            Failure::DeviceLost(reason) => CollectError::Device(reason),
            mistake => CollectError::Worker(mistake.reason().to_owned()),
        })?;
        let subject = description.subject(named).map_err(CollectError::Worker)?;
        let schema = subject.optimization.schema()?;
        let draws = match description.inputs.is_empty() {
            true => None,
            false => {
                let draws = drawn::check(&description.inputs, &subject.optimization);
                Some(draws.map_err(|e| CollectError::Worker(format!("inputs{e}")))?)
            }
        };
        Ok(Self { subject, schema, description, draws, link: Mutex::new(link) })
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn can(&self, request: &str) -> bool {
        self.description.can.contains(request)
    }

    fn choice(&self, choice: ChoiceId) -> String {
        self.subject.choices[choice.index()].clone()
    }

    /// Asks about a batch of cells. `read` gets the answer to each and the milliseconds that all took.
    fn ask_cells<T>(
        &self,
        cells: &[WireCell],
        request: fn(Vec<WireCell>) -> Request,
        read: impl Fn(&Answer, &WireCell, f64) -> Result<T, String> + Copy,
    ) -> Vec<Result<T, Failure>> {
        if cells.is_empty() {
            return Vec::new();
        }
        let mut link = self.link();
        let start = Instant::now();
        let (answers, mut fault) = link.ask_cells(request(cells.to_vec()), cells.len());
        let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
        let mut result = |(cell, answer): (&WireCell, Option<Answer>)| {
            let answer = answer?;
            Some(match answer.failure() {
                Some(Failure::DeviceLost(reason)) => Err(link.fault(reason)),
                Some(failure) => Err(failure),
                None => read(&answer, cell, elapsed_ms).map_err(|mistake| link.mistake(mistake)),
            })
        };
        let results: Vec<Option<Result<T, Failure>>> = cells.iter().zip(answers).map(&mut result).collect();
        if results.iter().flatten().any(Result::is_ok) {
            link.succeeded();
        }
        link.recover();
        drop(link);
        // Which cell is at fault shows when each one is asked alone.
        let alone = |cell: &WireCell, fault: &mut Option<Failure>| {
            if let Some(fault) =
                fault.as_ref().filter(|f| cells.len() == 1 || matches!(f, Failure::DeviceLost(_)))
            {
                return Err(fault.clone());
            }
            let result = self.ask_cells(std::slice::from_ref(cell), request, read).pop();
            let result = result.unwrap_or_else(|| Err(Failure::failed("no answer")));
            if let Err(lost @ Failure::DeviceLost(_)) = &result {
                *fault = Some(lost.clone());
            }
            result
        };
        let complete = |(cell, result): (&WireCell, Option<Result<T, Failure>>)| {
            result.unwrap_or_else(|| alone(cell, &mut fault))
        };
        cells.iter().zip(results).map(complete).collect()
    }
}

/// Refuses times that took longer than their answer.
pub(super) fn possible(times: &[f64], runs: u32, elapsed_ms: f64) -> Result<(), String> {
    let claimed_ms = times.iter().sum::<f64>() * f64::from(runs);
    if claimed_ms <= elapsed_ms * CLOCKS_DIFFER {
        return Ok(());
    }
    Err(format!("impossible times: {claimed_ms} ms in all, and the answer took {elapsed_ms:.3} ms"))
}

impl Bench for Worker {
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        self.check_all(&[choice]).pop().unwrap_or(Ok(()))
    }

    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        let times = self.run_all(&[Cell { choice, burst }]).pop();
        times.unwrap_or_else(|| Err(Failure::failed("no answer")))
    }

    fn batch(&self) -> usize {
        self.description.batch.max(1)
    }

    fn check_all(&mut self, choices: &[ChoiceId]) -> Vec<Result<(), Failure>> {
        if !self.can("check") {
            return choices.iter().map(|_| Ok(())).collect();
        }
        let cell = |choice: &ChoiceId| WireCell { choice: self.choice(*choice), burst: None };
        let cells: Vec<WireCell> = choices.iter().map(cell).collect();
        self.ask_cells(&cells, |cells| Request::Check { cells }, |_, _, _| Ok(()))
    }

    fn run_all(&mut self, cells: &[Cell]) -> Vec<Result<Times, Failure>> {
        let cell = |cell: &Cell| WireCell { choice: self.choice(cell.choice), burst: Some(cell.burst) };
        let cells: Vec<WireCell> = cells.iter().map(cell).collect();
        let simulated = self.description.simulated;
        let read = |answer: &Answer, cell: &WireCell, elapsed_ms: f64| {
            let (samples, runs) = cell.burst.map_or((1, 1), |burst| (burst.samples, burst.runs));
            let times = answer.times(samples)?;
            if !simulated {
                possible(&times, runs, elapsed_ms)?;
            }
            Ok(times)
        };
        self.ask_cells(&cells, |cells| Request::Time { cells }, read)
    }
}

impl Runner for Worker {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn draw(&self, seed: Seed) -> Result<Context, Failure> {
        if let Some(draws) = &self.draws {
            return drawn::draw(&self.subject.optimization, draws, "the worker's `inputs`", &mut seed.rng());
        }
        if !self.can("draw") {
            return Err(Failure::failed("the worker draws no inputs; give --inputs FILE"));
        }
        let answer = self.link().ask(Request::Draw { seed }).map_err(|failure| match failure {
            // The worker died on this input. The next one may be drawn.
            Failure::Failed(reason) => Failure::Skipped(reason),
            other => other,
        })?;
        answer
            .context(&self.schema)
            .map_err(|mistake| Failure::failed(format!("the worker's `draw`: {mistake}")))
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        if !self.can("accept") {
            return Ok(());
        }
        let answer = self.link().ask(Request::Accept { context: context.into() });
        answer.map(|_| ()).map_err(|failure| failure.reason().to_owned())
    }

    fn label(&self, context: &Context) -> String {
        let asked =
            self.can("label").then(|| self.link().ask(Request::Label { context: context.into() }).ok());
        let label = asked.flatten().and_then(|answer| answer.0.get("label")?.as_str().map(str::to_owned));
        label.unwrap_or_else(|| context.to_string())
    }

    fn load(&mut self, context: &Context, seed: Seed) -> Result<(), Failure> {
        self.link().prepare(WireContext::from(context), seed).map(|_| ()).map_err(|failure| match failure {
            // The input failed, not a choice.
            Failure::Failed(reason) => Failure::Skipped(reason),
            other => other,
        })
    }

    fn unload(&mut self) {
        let knows_release = self.can("release");
        self.link().release(knows_release);
    }

    fn is_simulated(&self) -> bool {
        self.description.simulated
    }

    fn look_ahead(&self) -> usize {
        if self.can("compile") { LOOK_AHEAD } else { 0 }
    }

    fn compile_ahead(&mut self, planned: &[Planned]) {
        let names = |choices: &Vec<ChoiceId>| choices.iter().map(|choice| self.choice(*choice)).collect();
        let group = |planned: &Planned| WireGroup {
            contexts: planned.contexts.iter().map(WireContext::from).collect(),
            choices: planned.choices.as_ref().map(names),
        };
        let groups = planned.iter().map(group).collect();
        // What fails here is reported when the choice is checked.
        let _ = self.link().ask(Request::Compile { groups });
    }
}
