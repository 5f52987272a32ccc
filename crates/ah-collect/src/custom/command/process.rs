//! A started command: its time, its output and its end, even if it misbehaves.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ah_measure::Failure;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Bytes that are kept of an output; a command may print without end.
const TAIL: usize = 4096;

/// The process group of the running command, 0 for none.
static RUNNING: AtomicI32 = AtomicI32::new(0);

/// Ends the running command; called before this process exits at once.
pub(crate) fn end_running() {
    if let Some(group) = Pid::from_raw(RUNNING.load(Ordering::Relaxed)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Whether the standard output of a command is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Dropped,
    Kept,
}

/// A command that succeeded.
#[derive(Debug)]
pub(super) struct Success {
    /// From start to end.
    pub elapsed: Duration,
    /// The end of its standard output.
    pub output: String,
}

/// Runs a command in a process group of its own, so that Ctrl-C does not reach it, and kills the whole
/// group after `limit`. `text` is the command for messages.
pub(super) fn run(
    mut command: Command,
    text: &str,
    limit: Duration,
    output: Output,
) -> Result<Success, Failure> {
    let shown = shorten(text);
    let stdout = if output == Output::Kept { Stdio::piped() } else { Stdio::null() };
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).process_group(0);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            Failure::skipped(format!("the program {:?} is not installed", command.get_program()))
        }
        _ => Failure::failed(format!("`{shown}` cannot be started: {e}")),
    })?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let Some(group) = group else { return Err(Failure::failed(format!("`{shown}` has no process id"))) };
    RUNNING.store(group.as_raw_nonzero().get(), Ordering::Relaxed);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let watch = || Ok((stdout.map(tail).transpose()?, stderr.map(tail).transpose()?, wait(group, limit)?));
    let watched: io::Result<_> = watch();
    let elapsed = start.elapsed();
    // Ends the processes that the command left running, which would keep the pipes open.
    let _ = kill_process_group(group, Signal::KILL);
    RUNNING.store(0, Ordering::Relaxed);
    let status = child.wait().map_err(|e| Failure::failed(format!("`{shown}`: {e}")))?;
    let (stdout, stderr, timed_out) =
        watched.map_err(|e| Failure::skipped(format!("cannot start a thread to watch `{shown}`: {e}")))?;
    let [stdout, stderr] = [stdout, stderr].map(|t| t.and_then(|t| t.join().ok()).unwrap_or_default());
    if timed_out {
        return Err(Failure::failed(format!("`{shown}` did not end within {} s", limit.as_secs_f64())));
    }
    if !status.success() {
        let last = last_line(&stderr).map(|line| format!(": {}", shorten(line))).unwrap_or_default();
        return Err(Failure::failed(format!("`{shown}` ended with {status}{last}")));
    }
    Ok(Success { elapsed, output: stdout })
}

/// Waits until the command has ended, but does not collect it, so that its id remains reserved. Returns
/// true if it had to be killed.
fn wait(group: Pid, limit: Duration) -> io::Result<bool> {
    let (ended, at_the_end) = mpsc::channel::<()>();
    let watchdog = thread::Builder::new().spawn(move || {
        let timed_out = at_the_end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        if timed_out {
            let _ = kill_process_group(group, Signal::KILL);
        }
        timed_out
    })?;
    while let Err(rustix::io::Errno::INTR) =
        waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {}
    drop(ended);
    Ok(watchdog.join().unwrap_or_default())
}

/// Reads all of an output on a thread of its own and keeps its end.
fn tail(mut output: impl Read + Send + 'static) -> io::Result<JoinHandle<String>> {
    thread::Builder::new().spawn(move || {
        let (mut kept, mut block) = (Vec::new(), [0; 16384]);
        while let Ok(n @ 1..) = output.read(&mut block) {
            kept.extend_from_slice(&block[..n]);
            kept.drain(..kept.len().saturating_sub(TAIL));
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

/// Returns the last line that is not blank.
pub(super) fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}

/// At most 160 characters of a text.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
