//! Measures in separate processes that speak an open protocol, so that any program can be measured, and a bad choice
//! costs only its time on one input.
//!
//! `docs/workers.md` defines the protocol, `ah_measure::protocol` has its messages, and `ah_measure::serve` is the other
//! side in Rust. [`Worker`] starts a `process` and, if that does not answer in time, dies, or loses its device, ends it,
//! starts another one and makes the same input again. The samples of the other choices are kept. `description`
//! checks what a worker describes.

mod description;
mod process;
#[cfg(any(test, feature = "fuzzing"))]
mod scripted;

use std::fmt;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ah_measure::protocol::{Answer, Description, Request, VERSION, WireCell, WireContext};
use ah_measure::sampling::Seed;
use ah_measure::{Bench, Burst, Cell, Failure, Measurement, Times, draws, measure_choices};
use ah_model::{ChoiceId, Context, Device, Error, Schema, this_cpu};
use ah_types::{Optimization, TimingPolicy};
use serde_json::{Value, json};

use crate::eligibility::Eligibility;
use crate::progress::Progress;
use crate::units::count;
use process::{Fault, FaultKind, GRACE, Patience, Process};

#[cfg(feature = "kernels")]
pub use description::MOST_CHOICES;
pub use description::{Named, check_choices, difference};
pub use process::command;
#[cfg(feature = "fuzzing")]
pub use scripted::measure_scripted;

/// A time may exceed the time that its answer took by this factor: two clocks differ a little.
const CLOCKS_DIFFER: f64 = 1.1;

/// A choice that ended its process on this many inputs, and on most inputs on which it ran, is not tried again: starting a
/// worker for a GPU takes 5 s, where an input takes 0.05.
const MOST_FAULTS: u32 = 3;

/// How a worker process is started.
type Start = Box<dyn FnMut() -> Result<Process, String> + Send>;

/// What is measured: a process that knows one optimization on one device, and everything needed to start another process in
/// the same state; see the [module](self).
pub struct Worker {
    start: Start,
    /// For the answers of each process, once it has described itself.
    patience: Patience,
    /// The wait before a worker that could not be started is started once more: its device may need a moment.
    pause: Duration,
    process: Option<Process>,
    /// What it describes: the choices, how they are timed, and more.
    pub description: Description,
    /// The decision.
    pub optimization: Optimization,
    /// The features of its inputs.
    pub schema: Schema,
    /// The device that the choices run on.
    pub device: Device,
    /// Where each choice can run.
    pub eligibility: Arc<Eligibility>,
    /// By choice: why it cannot run on the loaded input.
    refusals: Vec<Option<Failure>>,
    /// By choice: how it got on in this run.
    attempts: Vec<Attempts>,
    /// The request that makes the current input, for the next process.
    input: Option<Request>,
    /// The time that replacements took since it was asked for, with that of the requests before and after each.
    interruption: Duration,
    /// How many more requests start something for the first time in a process that replaced another one: the kernels, and
    /// then what empties the caches.
    first_requests: u32,
}

/// The inputs on which a choice was asked.
#[derive(Clone, Debug, Default)]
struct Attempts {
    inputs: u32,
    /// On how many of them it ended its process.
    faults: u32,
    /// How it did so the last time.
    reason: String,
}

impl Attempts {
    /// Why the choice is not asked any more.
    fn given_up(&self) -> Option<Failure> {
        let Self { inputs, faults, reason } = self;
        (*faults >= MOST_FAULTS && 2 * faults > *inputs).then(|| {
            let all = count(u64::from(*inputs), "input");
            let why = format!("it ended the worker process on {faults} of {all}, the last time: {reason}");
            Failure::Failed(format!("not tried: {why}"))
        })
    }
}

impl Worker {
    /// Starts `command`, a program that speaks the protocol. If its standard error is a pipe, the last line says why it ended.
    ///
    /// # Errors
    /// It cannot be started, or describes something that cannot be measured.
    pub fn start(mut command: Command, limit: Duration, named: Named) -> Result<Self, Error> {
        let start = move || Process::start(&mut command);
        Self::over(Box::new(start), limit, Duration::from_secs(1), named)
    }

    fn over(mut start: Start, limit: Duration, pause: Duration, named: Named) -> Result<Self, Error> {
        let patience = Patience { limit, ..Patience::default() };
        let (process, description) = open(&mut start, &patience)?;
        let optimization = description::optimization(&description, named).map_err(misdescribed)?;
        let schema = optimization.schema()?;
        draws::check(&description.inputs, &optimization).map_err(|e| misdescribed(format!("inputs{e}")))?;
        let eligibility = Eligibility::new(&optimization, &description.choices)?;
        Ok(Self {
            start,
            patience,
            pause,
            process: Some(process),
            attempts: vec![Attempts::default(); description.choices.len()],
            optimization,
            schema,
            device: description.device.clone().unwrap_or_else(this_cpu),
            description,
            eligibility: Arc::new(eligibility),
            refusals: Vec::new(),
            input: None,
            interruption: Duration::ZERO,
            first_requests: 0,
        })
    }

    /// Begins a run: what the processes say that they work on is shown, and extends their limits until `run_ends`.
    pub fn begin_run(&mut self, progress: &Progress, run_ends: Option<Instant>) {
        self.patience.progress = Some(progress.clone());
        self.patience.run_ends = run_ends;
        self.process.iter_mut().for_each(|process| process.patience = self.patience.clone());
    }

    /// Whether it knows a request that a worker may know.
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
            let drawn = draws::draw(&self.optimization, inputs, &mut seed.rng());
            return drawn.map_err(Failure::DeviceLost);
        }
        let answer = self.ask(Request::Draw { seed })?;
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
        let answer = self.ask(Request::Accept { context: context.into() });
        answer.map(drop).map_err(|failure| failure.reason().to_owned())
    }

    /// Compiles what these inputs need, so that they do not wait for it. What fails here is reported when a choice is checked.
    pub fn compile<'a>(&mut self, contexts: impl Iterator<Item = &'a Context>) {
        if !self.can("compile") {
            return;
        }
        let contexts = contexts.map(WireContext::from).collect();
        let _ = self.ask(Request::Compile { contexts });
    }

    /// Measures all choices on one input.
    ///
    /// # Errors
    /// [`Failure::Skipped`] if it cannot be measured here, [`Failure::Failed`] if making it failed.
    pub fn measure(
        &mut self,
        context: &Context,
        seed: Seed,
        policy: &TimingPolicy,
    ) -> Result<Measurement, Failure> {
        self.refusals = self.eligibility.refusals(context).map_err(Failure::skipped)?;
        let prepare = Request::Prepare { context: context.into(), seed };
        self.ask(prepare.clone())?;
        self.input = Some(prepare);
        let choices = self.description.choices.len();
        let mut measurement = measure_choices(self, choices, policy, seed);
        self.input = None;
        if let Err(failure) = self.release() {
            measurement.lost.get_or_insert_with(|| failure.reason().to_owned());
        }
        Ok(measurement)
    }

    /// Ends the input of the process; the next request starts another one. Returns whether it ends within the limit.
    pub fn ends_with_its_input(&mut self, limit: Duration) -> bool {
        self.process.take().is_none_or(|process| process.ends_with_its_input(limit))
    }

    /// Tells the process, if it knows that request, to forget its input.
    ///
    /// # Errors
    /// The next inputs would be spoilt.
    fn release(&mut self) -> Result<(), Failure> {
        let can = self.can("release");
        let Some(process) = self.process.as_mut().filter(|_| can) else { return Ok(()) };
        match process.ask(Request::Release) {
            Ok(_) => Ok(()),
            Err(Fault { reason, kind: FaultKind::Lost }) => Err(Failure::DeviceLost(reason)),
            Err(_) => self.replace(),
        }
    }

    /// The process, started if there is none. It must describe itself as those before.
    fn process(&mut self) -> Result<&mut Process, Failure> {
        if self.process.is_none() {
            let (process, now) =
                open(&mut self.start, &self.patience).map_err(|e| Failure::DeviceLost(e.to_string()))?;
            if let Some(what) = difference(&self.description, &now) {
                return Err(Failure::DeviceLost(format!("the worker was restarted and describes {what}")));
            }
            self.process = Some(process);
        }
        self.process.as_mut().ok_or_else(|| Failure::DeviceLost("no worker process".to_owned()))
    }

    /// Asks one question. A fault is a failure, and the process is replaced.
    fn ask(&mut self, request: Request) -> Result<Answer, Failure> {
        self.process()?.ask(request).unwrap_or_else(|fault| {
            self.replace()?;
            Err(fault.into())
        })
    }

    /// Ends the process, starts another one and makes the current input. Nothing is blamed on a choice before this
    /// succeeds: a worker that does not start again, or is another one now, would fail every choice.
    ///
    /// # Errors
    /// As above, or the input cannot be made again.
    pub fn replace(&mut self) -> Result<(), Failure> {
        let start = Instant::now();
        self.process = None;
        if self.process().is_err() {
            thread::sleep(self.pause);
        }
        let replaced = self.process().map(drop).and_then(|()| self.prepare_again());
        self.first_requests = 2;
        self.interruption += start.elapsed();
        replaced
    }

    fn prepare_again(&mut self) -> Result<(), Failure> {
        let Some(prepare) = self.input.take() else { return Ok(()) };
        let Err(failure) = answered(self.process()?.ask(prepare.clone())) else {
            self.input = Some(prepare);
            return Ok(());
        };
        self.process = None;
        Err(Failure::Unmeasured(format!("the input could not be made again: {}", failure.reason())))
    }

    fn cell(&self, choice: ChoiceId, burst: Option<Burst>) -> WireCell {
        WireCell { choice: self.description.choices[choice.index()].clone(), burst }
    }

    /// Asks about a batch of cells; returns the times of each, none for a check. Of a batch in which the process failed, the
    /// cells without an answer are asked again, each one alone: only at this `last` chance is the choice at fault, or if it
    /// hung alone.
    fn ask_cells(
        &mut self,
        cells: &[WireCell],
        request: fn(Vec<WireCell>) -> Request,
        last: bool,
    ) -> Vec<Result<Times, Failure>> {
        let all = |failure| vec![Err(failure); cells.len()];
        if self.input.is_none() {
            return all(Failure::Unmeasured("the input could not be made again".to_owned()));
        }
        let process = match self.process() {
            Ok(process) => process,
            Err(failure) => return all(failure),
        };
        let start = Instant::now();
        let mut answers = vec![None; cells.len()];
        let fault = process.ask_cells(request(cells.to_vec()), &mut answers).err();
        let elapsed = start.elapsed();
        // A choice that crashes, and kernels that a new process compiles once more, use no other choice's budget up.
        if self.first_requests > 0 || fault.is_some() {
            self.interruption += elapsed;
        }
        self.first_requests = self.first_requests.saturating_sub(1);
        let failure = fault.and_then(|fault| {
            let is_known = match fault.kind {
                FaultKind::Broken | FaultKind::Lost => last,
                FaultKind::Silent => last || cells.len() == 1,
                FaultKind::Endless => true,
            };
            self.replace().err().or(is_known.then(|| fault.into()))
        });
        if let ([cell], Some(Failure::Failed(reason))) = (cells, &failure)
            && let Some(at) = self.description.choices.iter().position(|choice| *choice == cell.choice)
        {
            self.attempts[at].faults += 1;
            self.attempts[at].reason.clone_from(reason);
        }
        let mut results = Vec::new();
        for (cell, answer) in cells.iter().zip(answers) {
            match (answer, &failure) {
                (Some(answer), _) => results.push(self.times(&answer, cell, elapsed)),
                (None, Some(failure)) => results.push(Err(failure.clone())),
                (None, None) => results.extend(self.ask_cells(std::slice::from_ref(cell), request, true)),
            }
        }
        results
    }

    /// The times of a cell, none for a check. `elapsed` passed until all cells of the batch were answered.
    fn times(&self, answer: &Answer, cell: &WireCell, elapsed: Duration) -> Result<Times, Failure> {
        if let Some(failure) = answer.failure() {
            return Err(failure);
        }
        let Some(burst) = cell.burst else { return Ok(Times::new()) };
        let times = answer.times(burst.samples).map_err(Failure::Failed)?;
        let claimed_ms = times.iter().sum::<f64>() * f64::from(burst.runs);
        let elapsed_ms = elapsed.as_secs_f64() * 1e3;
        let most_ms = elapsed_ms * CLOCKS_DIFFER * f64::from(self.description.threads.max(1));
        if self.description.simulated || claimed_ms <= most_ms {
            return Ok(times);
        }
        // The clock is at fault, and not the choice.
        Err(Failure::Unmeasured(format!(
            "impossible times: {claimed_ms} ms in all, and the answer took {elapsed_ms:.3} ms; are they milliseconds? A worker \
             that adds up the processor time of several threads describes \"threads\": N"
        )))
    }
}

/// The answer of a process. A fault is [`Failure::DeviceLost`].
fn answered(answer: Result<Result<Answer, Failure>, Fault>) -> Result<Answer, Failure> {
    answer.unwrap_or_else(|fault| Err(Failure::DeviceLost(fault.reason)))
}

/// The error of a worker whose description has a mistake.
#[allow(clippy::needless_pass_by_value)] // Takes a value, to be passed to `map_err`.
fn misdescribed(mistake: impl fmt::Display) -> Error {
    Error::Invalid(format!("the worker's description: {mistake}"))
}

/// Starts a process and asks for its description.
fn open(start: &mut Start, patience: &Patience) -> Result<(Process, Description), Error> {
    let mut process = start().map_err(Error::Device)?;
    let answer = answered(process.ask(Request::Describe { protocol: VERSION }))
        .map_err(|failure| Error::Device(failure.reason().to_owned()))?;
    let version = answer.rest.get("protocol").unwrap_or(&Value::Null);
    if *version != VERSION {
        let mistake = format!("it speaks version {version} of the protocol, expected {VERSION}");
        return Err(misdescribed(mistake));
    }
    // Each field has a default. A mistake names its field.
    for (key, value) in &answer.rest {
        let alone = serde_json::from_value::<Description>(json!({ key: value }));
        alone.map_err(|e| misdescribed(format!("{key}: {e}")))?;
    }
    let description = serde_json::from_value(answer.rest.into()).map_err(misdescribed)?;
    process.patience = patience.clone();
    Ok((process, description))
}

impl Drop for Worker {
    /// Lets the worker end by itself, so that it can clean up.
    fn drop(&mut self) {
        self.ends_with_its_input(GRACE);
    }
}

impl Bench for Worker {
    fn check(&mut self, choices: &[ChoiceId]) -> Vec<Result<(), Failure>> {
        let attempts = &mut self.attempts;
        let mut refusal = |choice: &ChoiceId| {
            let ineligible = self.refusals.get(choice.index()).cloned().flatten();
            let refusal = ineligible.or_else(|| attempts[choice.index()].given_up());
            attempts[choice.index()].inputs += u32::from(refusal.is_none());
            refusal
        };
        let mut results: Vec<_> = choices.iter().map(|choice| refusal(choice).map_or(Ok(()), Err)).collect();
        let offered: Vec<usize> = (0..choices.len()).filter(|at| results[*at].is_ok()).collect();
        if self.can("check") && !offered.is_empty() {
            let cells: Vec<_> = offered.iter().map(|at| self.cell(choices[*at], None)).collect();
            let checked = self.ask_cells(&cells, |cells| Request::Check { cells }, false);
            offered.into_iter().zip(checked).for_each(|(at, result)| results[at] = result.map(drop));
        }
        results
    }

    fn time(&mut self, cells: &[Cell]) -> Vec<Result<Times, Failure>> {
        let cells: Vec<_> = cells.iter().map(|cell| self.cell(cell.choice, Some(cell.burst))).collect();
        self.ask_cells(&cells, |cells| Request::Time { cells }, false)
    }

    fn batch(&self) -> usize {
        self.description.batch.max(1)
    }

    fn interruption(&mut self) -> Duration {
        std::mem::take(&mut self.interruption)
    }
}
