//! The progress of a run on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use ah_cli::stderr;
use indicatif::{ProgressBar, ProgressStyle};

use crate::observer::Observer;

/// Time between two plain lines.
const EVERY: Duration = Duration::from_secs(5);

/// Shows the progress of a run.
#[derive(Debug)]
pub(super) struct Progress {
    /// On a terminal only.
    bar: Option<ProgressBar>,
    done: u64,
    goal: Option<u64>,
    start: Instant,
    last_line: Instant,
}

impl Default for Progress {
    fn default() -> Self {
        let now = Instant::now();
        Self { bar: None, done: 0, goal: None, start: now, last_line: now }
    }
}

impl Observer for Progress {
    fn start(&mut self, done: u64, goal: Option<u64>, max_time: Option<Duration>) {
        let terminal = std::io::stderr().is_terminal();
        let now = Instant::now();
        let bar = terminal.then(|| bar(done, goal, max_time));
        *self = Self { bar, done, goal, start: now, last_line: now };
    }

    fn input_done(&mut self, result: &str) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.set_message(ah_cli::printable(result).into_owned());
            if self.goal.is_some() {
                bar.inc(1);
            } else {
                bar.set_position(self.start.elapsed().as_secs());
                bar.set_prefix(format!("{} inputs", self.done));
            }
        } else if self.last_line.elapsed() >= EVERY {
            self.last_line = Instant::now();
            let of = self.goal.map_or(String::new(), |goal| format!(" of {goal}"));
            stderr(&format!(
                "{}{of} inputs, {:.0} s: {result}\n",
                self.done,
                self.start.elapsed().as_secs_f64()
            ));
        }
    }

    fn message(&mut self, text: &str) {
        let line = format!("{text}\n");
        match &self.bar {
            Some(bar) => bar.suspend(|| stderr(&line)),
            None => stderr(&line),
        }
    }

    fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(done: u64, goal: Option<u64>, max_time: Option<Duration>) -> ProgressBar {
    let (length, template) = match (goal, max_time) {
        (Some(goal), _) => (Some(goal), "{bar:30} {pos}/{len} inputs, {per_sec}, {eta} left: {wide_msg}"),
        (None, Some(limit)) => (Some(limit.as_secs()), "{bar:30} {prefix}, {elapsed} of {len} s: {wide_msg}"),
        (None, None) => (None, "{spinner} {prefix}, {elapsed}: {wide_msg}"),
    };
    let bar = ProgressBar::no_length().with_position(if goal.is_some() { done } else { 0 });
    if let Some(length) = length {
        bar.set_length(length);
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    // The bar panics if it cannot start a thread.
    if std::thread::Builder::new().spawn(|| ()).is_ok() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}
