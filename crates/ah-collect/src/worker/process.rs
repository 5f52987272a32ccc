//! A worker process: starts it, sends it requests, receives its answers, ends it.

use ah_model::Error;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ah_measure::protocol::{Answer, Numbered, Request, shorten};
use ah_measure::{Failure, lock};

use crate::process_group::{ProcessGroup, Tail, last_line};
use crate::progress::Progress;

/// The most bytes of a line.
const MOST_BYTES: usize = 4 << 20;
/// The most answers that wait to be read; then the worker waits. All together have at most 256 MiB.
const MOST_WAITING: usize = 64;
/// Signs of life extend the limit of an answer to this many limits: a worker that says `working` for ever must not hold a run up.
const LIMITS_OF_WORK: u32 = 30;
/// A worker has this long to describe itself: it opens its device and may compile its first kernels.
const START: Duration = Duration::from_secs(60);
/// The time that a worker has to end after its input or its output has ended.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// The command that starts this program again, as a worker. The program may have been called by another name, of a
/// binary with several tools in it, so it gets the name of this tool.
pub fn command() -> Result<Command, Error> {
    let program = std::env::current_exe()
        .map_err(|e| Error::Device(format!("cannot find this program to start a worker: {e}")))?;
    let mut command = Command::new(program);
    command.arg0("ah-collect").arg("serve");
    Ok(command)
}

/// A fault of a process.
#[derive(Debug)]
pub(super) struct Fault {
    pub reason: String,
    pub kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// Dead, or its answer is none.
    Broken,
    /// It answers that it can no longer use its device.
    Lost,
    /// Nothing came within the limit.
    Silent,
    /// It gave signs of life, and no answer within many limits.
    Endless,
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self { reason, kind: FaultKind::Broken }
    }
}

impl From<Fault> for Failure {
    /// A process that still works has shown no failure.
    fn from(Fault { reason, kind }: Fault) -> Self {
        if kind == FaultKind::Endless { Self::Unmeasured(reason) } else { Self::Failed(reason) }
    }
}

/// How long to wait for a worker.
#[derive(Clone, Default)]
pub(super) struct Patience {
    /// The limit of the next line of an answer: making an input, checking a choice, one burst of samples.
    pub limit: Duration,
    /// When the run ends: from then on, signs of life extend no limit.
    pub run_ends: Option<Instant>,
    /// Shows what the worker works on.
    pub progress: Option<Progress>,
}

/// A worker process.
pub(super) struct Process {
    /// `None`: the worker is only what it says.
    group: Option<ProcessGroup>,
    /// A thread writes the requests, so that a worker that does not read them blocks nobody.
    requests: mpsc::Sender<String>,
    answers: mpsc::Receiver<Result<String, String>>,
    /// The last line that is no answer.
    printed: Arc<Mutex<String>>,
    errors: Option<Tail>,
    /// The patience for its first answer, unless the worker sets another.
    pub patience: Patience,
    last_id: u64,
}

impl Process {
    /// Starts a process. Its standard error is that of this process, unless the command has a pipe for it.
    pub(super) fn start(command: &mut Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut group = ProcessGroup::start(command).map_err(|e| {
            format!("cannot start a worker process, {}: {e}", command.get_program().display())
        })?;
        let child = &mut group.child;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the worker process has no pipes".to_owned());
        };
        let errors = child.stderr.take().map(Tail::of).transpose().map_err(no_thread)?;
        Ok(Self { group: Some(group), errors, ..Self::over(stdin, stdout)? })
    }

    /// The worker that reads requests from `input` and writes answers to `output`.
    pub(super) fn over(
        mut input: impl Write + Send + 'static,
        output: impl Read + Send + 'static,
    ) -> Result<Self, String> {
        let (requests, lines) = mpsc::channel::<String>();
        let write = move || {
            // A broken pipe means that the process has ended; its answers have the reason.
            let _ = lines
                .iter()
                .try_for_each(|line| input.write_all(line.as_bytes()).and_then(|()| input.flush()));
        };
        let (send, answers) = mpsc::sync_channel(MOST_WAITING);
        let printed = Arc::new(Mutex::new(String::new()));
        let last_printed = Arc::clone(&printed);
        thread::Builder::new().spawn(write).map_err(no_thread)?;
        thread::Builder::new().spawn(move || read(output, &send, &last_printed)).map_err(no_thread)?;
        let patience = Patience { limit: START, ..Patience::default() };
        Ok(Self { group: None, requests, answers, printed, errors: None, patience, last_id: 0 })
    }

    /// Sends a request and returns the one answer to it, or the reason in its place.
    pub(super) fn ask(&mut self, request: Request) -> Result<Result<Answer, Failure>, Fault> {
        self.send(request);
        let answer = self.receive()?;
        Ok(answer.failure().map_or(Ok(answer), Err))
    }

    /// Sends a request about cells, and receives an answer to each. After a fault, the answers so far are there.
    pub(super) fn ask_cells(&mut self, request: Request, found: &mut [Option<Answer>]) -> Result<(), Fault> {
        self.send(request);
        for _ in 0..found.len() {
            let answer = self.receive()?;
            match answer.cell.and_then(|cell| found.get_mut(cell)) {
                Some(cell @ None) => *cell = Some(answer),
                Some(Some(_)) => return Err(format!("a cell is answered twice: {}", answer.shown()).into()),
                None => return Err(format!("no cell of the request is answered: {}", answer.shown()).into()),
            }
        }
        Ok(())
    }

    fn send(&mut self, request: Request) {
        self.last_id += 1;
        let line = serde_json::to_string(&Numbered { id: self.last_id, request }).unwrap_or_default();
        // If the writing thread has ended, so has the process; its answers have the reason.
        let _ = self.requests.send(line + "\n");
    }

    /// The next answer to the last request. A lost device is a fault.
    fn receive(&mut self) -> Result<Answer, Fault> {
        let start = Instant::now();
        let limit = self.patience.limit;
        loop {
            let line = match self.answers.recv_timeout(limit) {
                Ok(line) => line?,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Fault { reason: self.hung(limit), kind: FaultKind::Silent });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended().into()),
            };
            let answer = Answer::read(&line).map_err(|e| {
                format!("a line begins with {{ and is no answer ({e}): {}", shorten(line.trim()))
            })?;
            let expected = self.last_id;
            if answer.id != Some(expected) {
                let found = answer.id.map_or_else(|| "none".to_owned(), |id| id.to_string());
                return Err(format!("an answer has the wrong id, expected {expected}, found {found}").into());
            }
            if let Some(Failure::DeviceLost(reason)) = answer.failure() {
                return Err(Fault { reason, kind: FaultKind::Lost });
            }
            let Some(text) = &answer.working else { return Ok(answer) };
            let run_ended = self.patience.run_ends.is_some_and(|end| Instant::now() >= end);
            let most = if run_ended { limit } else { limit * LIMITS_OF_WORK };
            if start.elapsed() > most {
                let longer = if run_ended { "--max-seconds" } else { "--hang-seconds" };
                let reason = format!(
                    "no answer within {} s, only `working`: {:?}; raise {longer} if it needs longer",
                    most.as_secs_f64(),
                    shorten(text)
                );
                return Err(Fault { reason, kind: FaultKind::Endless });
            }
            if let Some(progress) = &self.patience.progress {
                progress.working(&shorten(text));
            }
        }
    }

    /// Ends the requests. Returns whether the worker ends within the limit.
    pub(super) fn ends_with_its_input(self, limit: Duration) -> bool {
        drop(self.requests);
        self.group.is_none_or(|mut group| group.ends_within(limit).unwrap_or_default())
    }

    fn hung(&self, limit: Duration) -> String {
        let printed = lock(&self.printed);
        let seen = match printed.as_str() {
            "" => String::new(),
            line => format!("; the last line that it printed is no answer: {}", shorten(line)),
        };
        format!("hung: no answer within {} s{seen}", limit.as_secs_f64())
    }

    /// How a process ended whose output has ended.
    fn ended(&mut self) -> String {
        let Some(group) = &mut self.group else { return "crashed".to_owned() };
        let closed = !group.ends_within(GRACE).unwrap_or_default();
        let ended = match group.end() {
            _ if closed => "it closed its standard output".to_owned(),
            Ok(status) => format!("the worker process ended with {status}"),
            Err(e) => e.to_string(),
        };
        let errors = self.errors.take().map(|errors| errors.text()).unwrap_or_default();
        let last = last_line(&errors).map(|line| format!(": {}", shorten(line))).unwrap_or_default();
        format!("crashed: {ended}{last}")
    }
}

#[allow(clippy::needless_pass_by_value)] // Takes a value, to be passed to `map_err`.
fn no_thread(error: io::Error) -> String {
    format!("cannot start a thread for the worker process: {error}")
}

/// Reads lines until the output ends. A line that begins with `{` is sent; a half line at the end is not.
fn read(output: impl Read, send: &mpsc::SyncSender<Result<String, String>>, printed: &Mutex<String>) {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    // Whether the rest of a long line is passed over.
    let mut is_rest = false;
    while let Ok(1..) = reader.by_ref().take(MOST_BYTES as u64).read_until(b'\n', &mut line) {
        let is_whole = line.ends_with(b"\n");
        let was_rest = std::mem::replace(&mut is_rest, !is_whole);
        let is_answer = line.starts_with(b"{") && !was_rest;
        let sent = if is_answer && is_whole {
            send.send(Ok(String::from_utf8_lossy(&line).into_owned()))
        } else if is_answer && line.len() == MOST_BYTES {
            send.send(Err(format!("a line has more than {} MiB", MOST_BYTES >> 20)))
        } else {
            let text = String::from_utf8_lossy(&line[..line.len().min(1024)]).trim().to_owned();
            if !text.is_empty() {
                *lock(printed) = text;
            }
            Ok(())
        };
        if sent.is_err() {
            return;
        }
        line.clear();
    }
}
