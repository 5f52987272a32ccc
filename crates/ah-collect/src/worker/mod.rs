//! Measures in separate processes that speak an open protocol, so that any program can be measured, and a bad choice
//! costs only its time on one input.
//!
//! `docs/workers.md` defines the protocol, `ah_measure::protocol` has its messages, and `ah_measure::serve` is the other
//! side in Rust. [`Worker`] starts a `process` and, if that does not answer in time, dies, or loses its device, ends it,
//! starts another one and makes the same input again (`link`). The samples of the other choices are kept. `description`
//! checks what a worker describes, and leaves out what cannot run on an input.

mod description;
mod link;
mod process;
#[cfg(any(test, feature = "fuzzing"))]
mod scripted;

use std::process::Command;
use std::time::Duration;

use ah_measure::protocol::{Answer, Description, Request, WireCell, WireContext};
use ah_measure::sampling::Seed;
use ah_measure::{Bench, Cell, Experiment, Failure, Measurement, Times, draws, measure_choices};
use ah_types::{ChoiceId, Context, Schema, TimingPolicy};

use crate::error::CollectError;
use description::Conditions;
use link::Link;

pub use description::{Named, difference};
pub use process::{Limits, command};
#[cfg(feature = "fuzzing")]
pub use scripted::measure_scripted;

/// A time may exceed the time that its answer took by this factor: two clocks differ a little.
const CLOCKS_DIFFER: f64 = 1.1;

/// What is measured: a process that knows one optimization on one device; see the [module](self).
pub struct Worker {
    experiment: Experiment,
    schema: Schema,
    description: Description,
    conditions: Conditions,
    /// By choice: why it cannot run on the loaded input.
    refusals: Vec<Option<Failure>>,
    link: Link,
}

impl Worker {
    /// Starts `command`, a program that speaks the protocol. With `shows_errors`, its standard error is that of this
    /// process.
    ///
    /// # Errors
    /// It cannot be started, or describes something that cannot be measured.
    pub fn start(
        command: Command,
        limits: Limits,
        named: Named,
        shows_errors: bool,
    ) -> Result<Self, CollectError> {
        Self::over(Link::new(command, limits, shows_errors), named)
    }

    fn over(mut link: Link, named: Named) -> Result<Self, CollectError> {
        let description = link.start().map_err(|failure| match failure {
            Failure::DeviceLost(reason) => CollectError::Device(reason),
            mistake => CollectError::Worker(mistake.reason().to_owned()),
        })?;
        let experiment = description::experiment(&description, named).map_err(CollectError::Worker)?;
        let schema = experiment.optimization.schema()?;
        draws::check(&description.inputs, &experiment.optimization)
            .map_err(|e| CollectError::Worker(format!("inputs{e}")))?;
        let name = &experiment.optimization.name;
        let conditions =
            Conditions::of(&experiment, &schema).map_err(|e| CollectError::Usage(format!("{name}: {e}")))?;
        Ok(Self { experiment, schema, description, conditions, refusals: Vec::new(), link })
    }

    /// Returns the decision, the device, the choices and how they are timed.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Returns the features of its inputs.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the rest of what the worker describes.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns whether it knows a request that a worker may know.
    pub fn can(&self, request: &str) -> bool {
        self.description.can.contains(request)
    }

    /// Draws the input at this place of the sequence.
    ///
    /// # Errors
    /// [`Failure::Skipped`] if the worker refuses this input, [`Failure::Failed`] if it died on it; any other failure, or
    /// [`Failure::DeviceLost`], concerns all inputs.
    pub fn draw(&mut self, seed: Seed) -> Result<Context, Failure> {
        let inputs = &self.description.inputs;
        if !inputs.is_empty() || !self.can("draw") {
            let drawn = draws::draw(&self.experiment.optimization, inputs, &mut seed.rng());
            return drawn.map_err(Failure::DeviceLost);
        }
        let answer = self.link.ask(Request::Draw { seed })?;
        let context = answer.context(&self.schema);
        context.map_err(|mistake| Failure::DeviceLost(format!("the worker's `draw`: {mistake}")))
    }

    /// Checks that a context from the user can be measured.
    ///
    /// # Errors
    /// The reason in words.
    pub fn accepts(&mut self, context: &Context) -> Result<(), String> {
        if !self.can("accept") {
            return Ok(());
        }
        let answer = self.link.ask(Request::Accept { context: context.into() });
        answer.map(|_| ()).map_err(|failure| failure.reason().to_owned())
    }

    /// Compiles what these inputs need, so that they do not wait for it. What fails here is reported when a choice is checked.
    pub fn compile(&mut self, contexts: &[Context]) {
        let contexts = contexts.iter().map(WireContext::from).collect();
        let _ = self.link.ask(Request::Compile { contexts });
    }

    /// Makes an input. [`Bench`] checks and times its choices.
    ///
    /// # Errors
    /// [`Failure::Skipped`] if it cannot be measured here, [`Failure::Failed`] if making it failed.
    pub fn load(&mut self, context: &Context, seed: Seed) -> Result<(), Failure> {
        self.refusals = self.conditions.refusals(context, &self.schema)?;
        self.link.prepare(WireContext::from(context), seed)
    }

    /// Measures all choices on one input.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn measure(
        &mut self,
        context: &Context,
        seed: Seed,
        policy: &TimingPolicy,
    ) -> Result<Measurement, Failure> {
        self.load(context, seed)?;
        let choices = self.experiment.choices.len();
        let mut measurement = measure_choices(self, choices, policy, seed);
        if let Err(failure) = self.link.release(self.description.can.contains("release")) {
            measurement.lost.get_or_insert_with(|| failure.reason().to_owned());
        }
        Ok(measurement)
    }

    /// Ends the worker's input. Returns whether the worker ends within the limit.
    pub fn ends_with_its_input(mut self, limit: Duration) -> bool {
        self.link.take().is_none_or(|process| process.ends_with_its_input(limit))
    }

    fn cell(&self, choice: ChoiceId) -> WireCell {
        WireCell { choice: self.experiment.choices[choice.index()].clone(), burst: None }
    }

    /// Asks about a batch of cells. `read` gets the answer to each and the milliseconds that all took. Of a batch in which
    /// the process failed, the cells without an answer are asked again, each one alone: only then is the choice at fault.
    fn ask_cells<T>(
        &mut self,
        cells: &[WireCell],
        request: fn(Vec<WireCell>) -> Request,
        read: impl Fn(&Answer, &WireCell, f64) -> Result<T, String> + Copy,
    ) -> Vec<Result<T, Failure>> {
        if cells.is_empty() {
            return Vec::new();
        }
        let first = self.link.ask_cells(cells, request, read, false);
        let mut again = |cell: &WireCell| {
            let alone = self.link.ask_cells(std::slice::from_ref(cell), request, read, true);
            alone.into_iter().next().flatten().unwrap_or_else(|| Err(Failure::failed("no answer")))
        };
        cells.iter().zip(first).map(|(cell, result)| result.unwrap_or_else(|| again(cell))).collect()
    }
}

/// Refuses times that took longer than their answer.
fn possible(times: &[f64], runs: u32, elapsed_ms: f64) -> Result<(), String> {
    let claimed_ms = times.iter().sum::<f64>() * f64::from(runs);
    if claimed_ms <= elapsed_ms * CLOCKS_DIFFER {
        return Ok(());
    }
    Err(format!("impossible times: {claimed_ms} ms in all, and the answer took {elapsed_ms:.3} ms"))
}

impl Bench for Worker {
    fn check(&mut self, choices: &[ChoiceId]) -> Vec<Result<(), Failure>> {
        let refusal = |choice: &ChoiceId| self.refusals.get(choice.index()).cloned().flatten();
        let mut results: Vec<Result<(), Failure>> =
            choices.iter().map(|choice| refusal(choice).map_or(Ok(()), Err)).collect();
        if !self.can("check") {
            return results;
        }
        let offered: Vec<usize> = (0..choices.len()).filter(|at| results[*at].is_ok()).collect();
        let cells: Vec<WireCell> = offered.iter().map(|at| self.cell(choices[*at])).collect();
        let checked = self.ask_cells(&cells, |cells| Request::Check { cells }, |_, _, _| Ok(()));
        offered.into_iter().zip(checked).for_each(|(at, result)| results[at] = result);
        results
    }

    fn time(&mut self, cells: &[Cell]) -> Vec<Result<Times, Failure>> {
        let cell = |cell: &Cell| WireCell { burst: Some(cell.burst), ..self.cell(cell.choice) };
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

    fn batch(&self) -> usize {
        self.description.batch.max(1)
    }

    fn interruption(&mut self) -> Duration {
        self.link.interruption()
    }
}
