//! Processes that this one starts: ended with all that they started, and the end of what they print is kept.

use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use ah_measure::lock;

/// Bytes that are kept of an output; a program may print without end.
const TAIL: usize = 4096;
/// The longest wait for the end of an output after its process has ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// A process and all that it starts. Ctrl-C does not reach it. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    /// The process that was started.
    pub(crate) child: Child,
    /// The end of the process, once it was waited for: from then on its id may belong to another one.
    status: Option<ExitStatus>,
}

impl ProcessGroup {
    /// Starts a command in a group of its own.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        tell_guard('+', child.id());
        Ok(Self { child, status: None })
    }

    /// Waits until the process has ended, and ends it after this time. Returns whether it ended by itself. Its id remains
    /// reserved.
    ///
    /// # Errors
    /// No thread can be started to watch it.
    pub(crate) fn ends_within(&mut self, limit: Duration) -> io::Result<bool> {
        use rustix::process::{Pid, WaitId, WaitIdOptions, kill_process, waitid};
        let process = Pid::from_child(&self.child);
        let (ended, at_the_end) = mpsc::channel::<()>();
        let watchdog = thread::Builder::new().spawn(move || {
            let in_time = at_the_end.recv_timeout(limit) != Err(mpsc::RecvTimeoutError::Timeout);
            if !in_time {
                kill(process.as_raw_nonzero().get().unsigned_abs());
                let _ = kill_process(process, rustix::process::Signal::KILL);
            }
            in_time
        })?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(process), options) {}
        drop(ended);
        Ok(watchdog.join().unwrap_or_default())
    }

    /// Ends the group: also the processes that the first one left running, which would keep its pipes open. Returns how
    /// the first one ended.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        kill(self.child.id());
        let _ = self.child.kill();
        tell_guard('-', self.child.id());
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The process that ends the groups of this one if this one is killed or exits at once: it reads their ids from a pipe that then
/// closes.
static GUARD: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Starts the guard, which is this program in its mode `guard`. Without one, everything else works.
pub(crate) fn start_guard() {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    // Ctrl-C does not reach it.
    command.arg0("ah-collect").process_group(0).arg("guard");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        *lock(&GUARD) = child.stdin.take();
    }
}

fn tell_guard(sign: char, id: u32) {
    if let Some(pipe) = lock(&GUARD).as_mut() {
        let _ = writeln!(pipe, "{sign}{id}");
    }
}

/// The mode `guard`: ends the groups that are left when standard input ends.
pub(crate) fn guard() {
    let mut left: Vec<u32> = Vec::new();
    for line in io::stdin().lines().map_while(Result::ok) {
        match line.split_at_checked(1) {
            Some(("+", id)) => left.extend(id.parse::<u32>()),
            Some(("-", id)) => left.retain(|known| Ok(*known) != id.parse()),
            _ => {}
        }
    }
    // A worker ends by itself when its standard input does, and ends what it started.
    if !left.is_empty() {
        thread::sleep(PATIENCE);
    }
    left.into_iter().for_each(kill);
}

/// Ends a group. Its first process must not have been waited for: else the id may belong to another one.
fn kill(id: u32) {
    if let Some(group) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// The end of an output, which a thread of its own reads.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Disconnected when the output ends.
    ended: mpsc::Receiver<()>,
}

impl Tail {
    /// Begins to read an output.
    pub(crate) fn of(mut output: impl Read + Send + 'static) -> io::Result<Self> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (at_end, ended) = mpsc::channel();
        let keep = Arc::clone(&kept);
        thread::Builder::new().spawn(move || {
            let _at_end: mpsc::Sender<()> = at_end;
            let mut block = [0; 16384];
            while let Ok(n @ 1..) = output.read(&mut block) {
                let mut kept = lock(&keep);
                kept.extend_from_slice(&block[..n]);
                let surplus = kept.len().saturating_sub(TAIL);
                kept.drain(..surplus);
            }
        })?;
        Ok(Self { kept, ended })
    }

    /// Waits until the output ends, at most this long.
    pub(crate) fn wait(&self, limit: Duration) {
        let _ = self.ended.recv_timeout(limit);
    }

    /// The end of the output of a process that has ended. A process that left the group may keep the pipe open
    /// for hours, so this waits at most [`PATIENCE`].
    pub(crate) fn text(&self) -> String {
        self.wait(PATIENCE);
        String::from_utf8_lossy(&lock(&self.kept)).into_owned()
    }
}

/// The last line that is not blank.
pub(crate) fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}
