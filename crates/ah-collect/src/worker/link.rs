//! The link to a worker: a process that is replaced when it fails.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ah_measure::Failure;
use ah_measure::protocol::{Answer, Description, Request, VERSION, WireCell, WireContext};
use ah_measure::sampling::Seed;
use serde_json::Value;

use super::process::{Fault, GRACE, Limits, Process};

/// How a worker process is started.
type Start = Box<dyn FnMut() -> Result<Process, String> + Send>;

/// The link to a worker, and everything needed to start another process in the same state.
pub(super) struct Link {
    start: Start,
    limits: Limits,
    process: Option<Process>,
    description: Option<Description>,
    /// The current input, for the next process.
    input: Option<(WireContext, Seed)>,
    /// The time that replacements took since it was asked for, with that of the requests before and after each.
    interruption: Duration,
    /// How many more requests start something for the first time in a process that replaced another one: the kernels, and
    /// then what empties the caches.
    first_requests: u32,
}

impl Link {
    /// Returns the link to the worker that `command` starts. With `shows_errors`, its standard error is that of this
    /// process.
    pub(super) fn new(mut command: Command, limits: Limits, shows_errors: bool) -> Self {
        Self::over(Box::new(move || Process::start(&mut command, shows_errors)), limits)
    }

    pub(super) fn over(start: Start, limits: Limits) -> Self {
        Self {
            start,
            limits,
            process: None,
            description: None,
            input: None,
            interruption: Duration::ZERO,
            first_requests: 0,
        }
    }

    /// Starts a process and returns its description, which must be that of the processes before.
    pub(super) fn start(&mut self) -> Result<Description, Failure> {
        let mut process = (self.start)().map_err(Failure::DeviceLost)?;
        let description = describe(&mut process, self.limits)?;
        if let Some(what) =
            self.description.as_ref().and_then(|before| super::description::difference(before, &description))
        {
            return Err(Failure::DeviceLost(format!("the worker was restarted and describes {what}")));
        }
        self.description = Some(description.clone());
        self.process = Some(process);
        Ok(description)
    }

    /// Returns the process, started if there is none.
    fn process(&mut self) -> Result<&mut Process, Failure> {
        if self.process.is_none() {
            self.start().map_err(|failure| Failure::DeviceLost(failure.reason().to_owned()))?;
        }
        self.process.as_mut().ok_or_else(|| Failure::DeviceLost("no worker process".to_owned()))
    }

    /// Asks one question. A fault is a failure, and the process is replaced.
    pub(super) fn ask(&mut self, request: Request) -> Result<Answer, Failure> {
        let limit = self.limits.answer;
        match answered(self.process()?.ask(request, limit)) {
            Err(Failure::DeviceLost(reason)) => {
                self.replace()?;
                Err(Failure::Failed(reason))
            }
            answered => answered,
        }
    }

    /// Makes an input.
    pub(super) fn prepare(&mut self, context: WireContext, seed: Seed) -> Result<(), Failure> {
        self.input = None;
        self.ask(Request::Prepare { context: context.clone(), seed })?;
        self.input = Some((context, seed));
        Ok(())
    }

    /// Forgets the input; tells the process if it `knows_release`.
    ///
    /// # Errors
    /// The next inputs would be spoilt.
    pub(super) fn release(&mut self, knows_release: bool) -> Result<(), Failure> {
        self.input = None;
        let limit = self.limits.answer;
        let Some(process) = self.process.as_mut().filter(|_| knows_release) else { return Ok(()) };
        match process.ask(Request::Release, limit) {
            Ok(answer) => match answer.failure() {
                Some(lost @ Failure::DeviceLost(_)) => Err(lost),
                _ => Ok(()),
            },
            Err(_) => self.replace(),
        }
    }

    /// Asks about several cells. Returns the result of each; after a fault of the process, `None` for those without an
    /// answer, unless this is their `last` chance, or the one cell hung.
    pub(super) fn ask_cells<T>(
        &mut self,
        cells: &[WireCell],
        request: fn(Vec<WireCell>) -> Request,
        read: impl Fn(&Answer, &WireCell, f64) -> Result<T, String>,
        last: bool,
    ) -> Vec<Option<Result<T, Failure>>> {
        let all = |failure: Failure| cells.iter().map(|_| Some(Err(failure.clone()))).collect();
        if self.input.is_none() {
            return all(Failure::Unmeasured("the input could not be made again".to_owned()));
        }
        let limit = self.limits.answer;
        let process = match self.process() {
            Ok(process) => process,
            Err(failure) => return all(failure),
        };
        let start = Instant::now();
        let mut answers = vec![None; cells.len()];
        let mut fault = process.ask_cells(request(cells.to_vec()), &mut answers, limit).err();
        let elapsed = start.elapsed();
        let mut result = |(cell, answer): (&WireCell, Option<Answer>)| {
            let answer = answer?;
            Some(match answer.failure() {
                Some(Failure::DeviceLost(reason)) => {
                    fault.get_or_insert(Fault { reason, waited: Duration::ZERO });
                    return None;
                }
                Some(failure) => Err(failure),
                None => read(&answer, cell, elapsed.as_secs_f64() * 1e3).map_err(Failure::Failed),
            })
        };
        let mut results: Vec<Option<Result<T, Failure>>> =
            cells.iter().zip(answers).map(&mut result).collect();
        // A choice that crashes, and kernels that a new process compiles once more, use no other choice's budget up.
        if self.first_requests > 0 || fault.is_some() {
            self.interruption += elapsed;
        }
        self.first_requests = self.first_requests.saturating_sub(1);
        if let Some(Fault { reason, waited }) = fault {
            let is_known = last || (cells.len() == 1 && waited > Duration::ZERO);
            let failure = match self.replace() {
                Err(failure) => Some(failure),
                Ok(()) => is_known.then_some(Failure::Failed(reason)),
            };
            for result in results.iter_mut().filter(|result| result.is_none()) {
                *result = failure.clone().map(Err);
            }
        }
        results
    }

    /// Ends the process, starts another one and makes the current input. Nothing is blamed on a choice before this
    /// succeeds: a worker that does not start again, or is another one now, would fail every choice.
    fn replace(&mut self) -> Result<(), Failure> {
        let start = Instant::now();
        self.process = None;
        let mut started = self.start();
        if started.is_err() {
            thread::sleep(self.limits.pause);
            started = self.start();
        }
        let replaced = match started {
            Ok(_) => self.prepare_again(),
            Err(failure) => Err(Failure::DeviceLost(failure.reason().to_owned())),
        };
        self.first_requests = 2;
        self.interruption += start.elapsed();
        replaced
    }

    fn prepare_again(&mut self) -> Result<(), Failure> {
        let Some((context, seed)) = self.input.take() else { return Ok(()) };
        let limit = self.limits.answer;
        let answer = self.process()?.ask(Request::Prepare { context: context.clone(), seed }, limit);
        let Err(failure) = answered(answer) else {
            self.input = Some((context, seed));
            return Ok(());
        };
        self.process = None;
        Err(Failure::Unmeasured(format!("the input could not be made again: {}", failure.reason())))
    }

    /// Returns the time that replacements took since the last call.
    pub(super) fn interruption(&mut self) -> Duration {
        std::mem::take(&mut self.interruption)
    }

    /// Takes the process out.
    pub(super) fn take(&mut self) -> Option<Process> {
        self.process.take()
    }
}

impl Drop for Link {
    /// Lets the worker end by itself, so that it can clean up.
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.ends_with_its_input(GRACE);
        }
    }
}

/// Returns the answer of a process. A fault is [`Failure::DeviceLost`].
fn answered(answer: Result<Answer, Fault>) -> Result<Answer, Failure> {
    let answer = answer.map_err(|fault| Failure::DeviceLost(fault.reason))?;
    answer.failure().map_or(Ok(answer), Err)
}

/// Asks a process for its description. [`Failure::Failed`] is a mistake in the description itself.
fn describe(process: &mut Process, limits: Limits) -> Result<Description, Failure> {
    let answer = answered(process.ask(Request::Describe { protocol: VERSION }, limits.start))
        .map_err(|failure| Failure::DeviceLost(failure.reason().to_owned()))?;
    match answer.rest.get("protocol").unwrap_or(&Value::Null) {
        version if *version == VERSION => serde_json::from_value(answer.rest.into()).map_err(Failure::failed),
        version => {
            Err(Failure::failed(format!("it speaks version {version} of the protocol, expected {VERSION}")))
        }
    }
}
