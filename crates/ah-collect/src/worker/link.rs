//! The link to a worker: a process that is replaced when it fails.

use std::process::Command;

use ah_measure::Failure;
use ah_measure::sampling::Seed;

use super::process::{GRACE, Limits, Process};
use super::protocol::{Answer, Description, Request, VERSION, WireContext};

/// After this many faults in a row, the worker itself is at fault, not its kernels.
const MOST_FAULTS: u32 = 50;

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
    /// Faults since the last good answer.
    faults: u32,
}

impl Link {
    /// Returns the link to the worker that `command` starts. With `shows_errors`, its standard error is that of this
    /// process.
    pub(super) fn new(mut command: Command, limits: Limits, shows_errors: bool) -> Self {
        Self::over(Box::new(move || Process::start(&mut command, shows_errors)), limits)
    }

    pub(super) fn over(start: Start, limits: Limits) -> Self {
        Self { start, limits, process: None, description: None, input: None, faults: 0 }
    }

    /// Starts a process and returns its description, which must be that of the processes before.
    pub(super) fn start(&mut self) -> Result<Description, Failure> {
        let mut process = (self.start)().map_err(Failure::DeviceLost)?;
        let description = describe(&mut process, self.limits)?;
        match &self.description {
            None => self.description = Some(description.clone()),
            Some(before) => {
                if let Some(what) = difference(before, &description) {
                    return Err(Failure::DeviceLost(format!(
                        "the worker was restarted and describes {what}"
                    )));
                }
            }
        }
        self.process = Some(process);
        Ok(description)
    }

    /// Makes an input.
    pub(super) fn prepare(&mut self, context: WireContext, seed: Seed) -> Result<Answer, Failure> {
        self.input = None;
        self.ensure_process()?;
        self.input = Some((context.clone(), seed));
        self.ask_process(Request::Prepare { context, seed })
    }

    /// Forgets the input; tells the process if it `knows_release`.
    pub(super) fn release(&mut self, knows_release: bool) {
        self.input = None;
        if knows_release && self.process.is_some() {
            let _ = self.ask_process(Request::Release);
        }
    }

    /// Asks one question. A fault is a failure, and the process is replaced.
    pub(super) fn ask(&mut self, request: Request) -> Result<Answer, Failure> {
        self.ensure_process()?;
        self.ask_process(request)
    }

    /// Asks about several cells. Returns the answer of each; after a fault, `None` for those without one.
    pub(super) fn ask_cells(
        &mut self,
        request: Request,
        cells: usize,
    ) -> (Vec<Option<Answer>>, Option<Failure>) {
        let mut answers = vec![None; cells];
        let limit = self.limits.answer;
        let asked = self
            .ensure_process()
            .and_then(|()| self.with_process(|process| process.ask_cells(request, &mut answers, limit)));
        (answers, asked.err())
    }

    fn ask_process(&mut self, request: Request) -> Result<Answer, Failure> {
        let limit = self.limits.answer;
        let answer = self.with_process(|process| {
            process.send(request)?;
            process.receive(limit)
        })?;
        match answer.failure() {
            Some(Failure::DeviceLost(reason)) => Err(self.fault(reason)),
            Some(failure) => Err(failure),
            None => Ok(answer),
        }
    }

    fn with_process<T>(&mut self, run: impl FnOnce(&mut Process) -> Result<T, String>) -> Result<T, Failure> {
        let Some(process) = &mut self.process else { return Err(Failure::failed("no worker process")) };
        run(process).map_err(|reason| self.fault(reason))
    }

    /// Ends the process. Returns its failure: the last one of too many in a row ends the run.
    pub(super) fn fault(&mut self, reason: String) -> Failure {
        self.process = None;
        self.mistake(reason)
    }

    /// Returns the failure of an answer that cannot be used. The process may go on.
    pub(super) fn mistake(&mut self, reason: String) -> Failure {
        self.faults += 1;
        if self.faults >= MOST_FAULTS {
            return Failure::DeviceLost(format!(
                "the worker failed {MOST_FAULTS} times in a row; the last time: {reason}"
            ));
        }
        Failure::Failed(reason)
    }

    /// Replaces a process that has failed now, so that no later choice pays for it.
    pub(super) fn recover(&mut self) {
        // If that fails, the next request says so.
        let _ = self.ensure_process();
    }

    /// Notes a good answer.
    pub(super) fn succeeded(&mut self) {
        self.faults = 0;
    }

    /// Starts a process if there is none, and makes the current input.
    fn ensure_process(&mut self) -> Result<(), Failure> {
        if self.process.is_some() {
            return Ok(());
        }
        self.start().map_err(|failure| Failure::DeviceLost(failure.reason().to_owned()))?;
        let Some((context, seed)) = self.input.clone() else { return Ok(()) };
        match self.ask_process(Request::Prepare { context, seed }) {
            Ok(_) => Ok(()),
            Err(Failure::DeviceLost(reason)) => Err(Failure::DeviceLost(reason)),
            Err(failure) => {
                Err(Failure::failed(format!("the input cannot be made again: {}", failure.reason())))
            }
        }
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

/// Asks a process for its description. [`Failure::Failed`] is a mistake in the description itself.
pub(super) fn describe(process: &mut Process, limits: Limits) -> Result<Description, Failure> {
    let asked = process.send(Request::Describe { protocol: VERSION });
    let answer = asked.and_then(|()| process.receive(limits.start)).map_err(Failure::DeviceLost)?;
    if let Some(failure) = answer.failure() {
        return Err(Failure::DeviceLost(failure.reason().to_owned()));
    }
    let version = answer.field("protocol").map_err(Failure::Failed)?;
    if *version != VERSION {
        return Err(Failure::failed(format!(
            "it speaks version {version} of the protocol, expected {VERSION}"
        )));
    }
    serde_json::from_value(answer.0.into()).map_err(Failure::failed)
}

/// Returns what differs between two descriptions and spoils a log.
pub(super) fn difference(before: &Description, now: &Description) -> Option<&'static str> {
    [
        (before.choices != now.choices, "other choices"),
        (before.features != now.features, "other features"),
        (before.device != now.device, "another device"),
    ]
    .into_iter()
    .find_map(|(differs, what)| differs.then_some(what))
}
