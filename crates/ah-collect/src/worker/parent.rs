//! The parent's side of a worker process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use ah_types::{ChoiceId, Context, Optimization};

use super::protocol::{Answer, Request, WireContext};
use crate::error::CollectError;
use ah_measure::sampling::Rng;
use ah_measure::{Bench, Burst, Failure, Runner, Subject, Times};

/// The time limits of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For opening its device and compiling its first kernels.
    pub start: Duration,
    /// For one request: making an input, checking a choice, one burst of samples.
    pub answer: Duration,
}

impl Default for Limits {
    /// A first check may compile its kernel; NVRTC takes up to some seconds.
    fn default() -> Self {
        Self { start: Duration::from_secs(60), answer: Duration::from_secs(20) }
    }
}

/// A runner in a process of its own; see the [module](super).
#[derive(Debug)]
pub struct Worker {
    subject: Subject,
    /// Behind a lock, because drawing and labelling take `&self`.
    link: Mutex<Link>,
}

/// The process, and everything needed to start another one in the same state.
#[derive(Debug)]
struct Link {
    command: Command,
    limits: Limits,
    process: Option<Process>,
    input: Option<(WireContext, Rng)>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    stdin: ChildStdin,
    answers: mpsc::Receiver<Answer>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // The child may hang in a kernel, so it is killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    /// Returns the command that starts this program again, as a worker with these arguments.
    ///
    /// # Errors
    /// The system does not know the path of this program.
    pub fn command(arguments: impl IntoIterator<Item = String>) -> Result<Command, CollectError> {
        let program = std::env::current_exe()
            .map_err(|e| CollectError::Device(format!("cannot find this program to start a worker: {e}")))?;
        let mut command = Command::new(program);
        command.arg("--worker").args(arguments);
        Ok(command)
    }

    /// Starts `command`, a program that calls [`serve`](super::serve).
    ///
    /// # Errors
    /// The reason why it could not start or open its device.
    pub fn start(command: Command, limits: Limits, optimization: Optimization) -> Result<Self, String> {
        let mut link = Link { command, limits, process: None, input: None };
        match link.start()? {
            Answer::Ready { device, choices, timing } => {
                let subject = Subject { optimization, device: *device, choices, timing };
                Ok(Self { subject, link: Mutex::new(link) })
            }
            Answer::Unable { reason } => Err(reason),
            other => Err(format!("the worker began with {other:?}")),
        }
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and returns the answer. If the worker is lost, the request has failed.
    fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        let mut link = self.link();
        let reason = match link.ask(request) {
            Ok(Answer::DeviceLost { reason }) => reason,
            Ok(Answer::Skipped { reason }) => return Err(Failure::Skipped(reason)),
            Ok(Answer::Failed { reason }) => return Err(Failure::Failed(reason)),
            Ok(answer) => return Ok(answer),
            Err(reason) => reason,
        };
        link.process = None;
        Err(Failure::Failed(reason))
    }
}

impl Link {
    fn start(&mut self) -> Result<Answer, String> {
        self.process = None;
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start a worker process: {e}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the worker process has no pipes".to_owned());
        };
        let (send, answers) = mpsc::channel();
        let process = self.process.insert(Process { child, stdin, answers });
        let read = move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            // A kernel may print too; its lines are not answers and are skipped.
            for answer in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                if send.send(answer).is_err() {
                    break;
                }
            }
        };
        if let Err(e) = std::thread::Builder::new().spawn(read) {
            self.process = None;
            return Err(format!("cannot start a thread for the worker process: {e}"));
        }
        process.answer(self.limits.start)
    }

    /// Sends one request and returns its answer. Without a process, starts one and loads the current input
    /// first.
    fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        if self.process.is_none() {
            match self.start()? {
                Answer::Ready { .. } => {}
                Answer::Unable { reason } => return Err(reason),
                other => return Err(format!("the worker began with {other:?}")),
            }
            if let Some((context, rng)) = self.input.clone()
                && !matches!(request, Request::Load { .. })
            {
                match self.exchange(&Request::Load { context, rng })? {
                    Answer::Done => {}
                    other => return Err(format!("the input cannot be made again: {other:?}")),
                }
            }
        }
        self.exchange(request)
    }

    fn exchange(&mut self, request: &Request) -> Result<Answer, String> {
        let Some(process) = &mut self.process else { return Err("no worker process".to_owned()) };
        let line = serde_json::to_string(request).map_err(|e| e.to_string())?;
        // A broken pipe means that the process has ended; `answer` returns the reason.
        let _ = writeln!(process.stdin, "{line}").and_then(|()| process.stdin.flush());
        process.answer(self.limits.answer)
    }
}

impl Process {
    fn answer(&mut self, limit: Duration) -> Result<Answer, String> {
        match self.answers.recv_timeout(limit) {
            Ok(answer) => Ok(answer),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                Err(format!("hung: no answer within {} s", limit.as_secs_f64()))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(match self.child.wait() {
                Ok(status) => format!("crashed: the worker process ended with {status}"),
                Err(e) => format!("crashed: {e}"),
            }),
        }
    }
}

impl Bench for Worker {
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        self.ask(&Request::Check { choice: choice.0 }).map(|_| ())
    }
    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        match self.ask(&Request::Run { choice: choice.0, burst })? {
            Answer::Times { ms } => Ok(ms),
            other => Err(Failure::failed(format!("the worker answered {other:?}"))),
        }
    }
}

impl Runner for Worker {
    fn subject(&self) -> &Subject {
        &self.subject
    }
    fn draw(&self, rng: &mut Rng) -> Result<Context, Failure> {
        match self.ask(&Request::Draw { rng: rng.clone() })? {
            Answer::Drawn { context, rng: after } => {
                *rng = after;
                Ok(context.into())
            }
            other => Err(Failure::failed(format!("the worker answered {other:?}"))),
        }
    }
    fn accepts(&self, context: &Context) -> Result<(), String> {
        match self.ask(&Request::Accepts { context: context.into() }) {
            Ok(Answer::Refused { reason }) => Err(reason),
            Ok(_) => Ok(()),
            Err(failure) => Err(failure.to_string()),
        }
    }
    fn label(&self, context: &Context) -> String {
        match self.ask(&Request::Label { context: context.into() }) {
            Ok(Answer::Label { text }) => text,
            _ => context.to_string(),
        }
    }
    fn load(&mut self, context: &Context, rng: Rng) -> Result<(), Failure> {
        let context = WireContext::from(context);
        self.link().input = Some((context.clone(), rng.clone()));
        self.ask(&Request::Load { context, rng }).map(|_| ()).map_err(|failure| match failure {
            // The input failed, not a choice.
            Failure::Failed(reason) => Failure::Skipped(reason),
            other => other,
        })
    }
    fn unload(&mut self) {
        let mut link = self.link();
        link.input = None;
        // A process is not started only to drop its input.
        if link.process.is_some() && link.exchange(&Request::Unload).is_err() {
            link.process = None;
        }
    }
}
