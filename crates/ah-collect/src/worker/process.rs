//! A worker process: starts it, sends it requests, ends it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::protocol::{Answer, Request, WireContext};
use crate::error::CollectError;
use ah_measure::sampling::Rng;

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

/// Returns the command that starts this program again, as a worker.
pub fn command() -> Result<Command, CollectError> {
    let program = std::env::current_exe()
        .map_err(|e| CollectError::Device(format!("cannot find this program to start a worker: {e}")))?;
    let mut command = Command::new(program);
    command.arg("serve");
    Ok(command)
}

/// The process, and everything needed to start another one in the same state.
#[derive(Debug)]
pub(super) struct Link {
    command: Command,
    limits: Limits,
    process: Option<Process>,
    /// The current input, for the next process.
    pub(super) input: Option<(WireContext, Rng)>,
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

impl Link {
    pub(super) fn new(command: Command, limits: Limits) -> Self {
        Self { command, limits, process: None, input: None }
    }

    /// Starts a process and returns its first answer.
    pub(super) fn start(&mut self) -> Result<Answer, String> {
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
    pub(super) fn ask(&mut self, request: &Request) -> Result<Answer, String> {
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

    /// Ends the process; the next request starts another one.
    pub(super) fn end(&mut self) {
        self.process = None;
    }

    /// Drops the current input. A process is not started only to drop its input.
    pub(super) fn unload(&mut self) {
        self.input = None;
        if self.process.is_some() && self.exchange(&Request::Unload).is_err() {
            self.end();
        }
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
