//! A started command: its time, its output and its end, even if it misbehaves.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ah_measure::Failure;
use ah_measure::protocol::shorten;

use crate::process_group::{ProcessGroup, Tail, last_line};

/// How a shell ends that does not find a program.
const NOT_FOUND: i32 = 127;

/// The longest wait for the end of an output that nothing reads.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs a command, and ends it and all that it started after `limit`. `text` is the command for messages. Returns the time
/// from its start to its end and, if it `prints`, the end of its standard output.
pub(super) fn run(
    mut command: Command,
    text: &str,
    limit: Duration,
    prints: bool,
) -> Result<(Duration, String), Failure> {
    let shown = shorten(text);
    let stdout = if prints { Stdio::piped() } else { Stdio::null() };
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
    let start = Instant::now();
    let group = ProcessGroup::start(&mut command);
    let mut group = group.map_err(|e| Failure::Unmeasured(format!("`{shown}` cannot be started: {e}")))?;
    let stdout = group.child.stdout.take();
    let stderr = group.child.stderr.take();
    let watch = || {
        let tails = (stdout.map(Tail::of).transpose()?, stderr.map(Tail::of).transpose()?);
        Ok((tails, group.ends_within(limit)?))
    };
    let watched: io::Result<_> = watch();
    let elapsed = start.elapsed();
    let status = group.end().map_err(|e| Failure::Unmeasured(format!("`{shown}`: {e}")))?;
    let ((stdout, stderr), in_time) =
        watched.map_err(|e| Failure::Unmeasured(format!("cannot start a thread to watch `{shown}`: {e}")))?;
    let text = |output: Option<Tail>| output.map(|output| output.text()).unwrap_or_default();
    if !in_time {
        return Err(Failure::failed(format!("`{shown}` did not end within {} s", limit.as_secs_f64())));
    }
    if !status.success() {
        let last = last_line(&text(stderr)).map(|line| format!(": {}", shorten(line))).unwrap_or_default();
        if status.code() == Some(NOT_FOUND) {
            return Err(Failure::Unmeasured(format!("a program is not installed{last}")));
        }
        return Err(Failure::failed(format!("`{shown}` ended with {status}{last}")));
    }
    // What left the group may keep its pipe open. Each run leaves one more, so runs must not follow too fast.
    stderr.iter().for_each(|stderr| stderr.wait(PAUSE));
    Ok((elapsed, text(stdout)))
}
