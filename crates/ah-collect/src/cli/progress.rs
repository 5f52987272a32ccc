//! The progress of a run on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ah_cli::{is_quiet, is_verbose, printable, status, warning};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::units;

/// Time between two plain lines.
const EVERY: Duration = Duration::from_secs(5);

/// What the threads of a run share: the bar, on a terminal only, and the time of the last plain line.
struct Shown {
    bar: Option<ProgressBar>,
    last_line: Instant,
}

/// `None`: no run is in progress.
static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);

fn shown() -> MutexGuard<'static, Option<Shown>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows what a worker works on, in a long request of a run.
pub(crate) fn working(text: &str) {
    match &mut *shown() {
        Some(Shown { bar: Some(bar), .. }) => bar.set_message(printable(text).into_owned()),
        Some(Shown { last_line, .. }) if last_line.elapsed() >= EVERY => {
            *last_line = Instant::now();
            status(&format!("{text}\n"));
        }
        _ => {}
    }
}

/// Shows the progress of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    done: u64,
    goal: Option<u64>,
    start: Instant,
}

impl Default for Progress {
    fn default() -> Self {
        Self { bar: None, done: 0, goal: None, start: Instant::now() }
    }
}

impl Progress {
    /// The run starts. The log holds `done` inputs and will hold `goal`; without a goal the run ends after
    /// `max_time`, if at all.
    pub fn start(&mut self, done: u64, goal: Option<u64>, max_time: Option<Duration>) {
        let terminal = std::io::stderr().is_terminal() && !is_quiet();
        let start = Instant::now();
        let bar = terminal.then(|| bar(done, goal, max_time, start));
        *shown() = Some(Shown { bar: bar.clone(), last_line: start });
        *self = Self { bar, done, goal, start };
    }

    /// One more input is done; `result` is its winner and its features in a few words.
    pub fn input_done(&mut self, result: &str) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.set_message(printable(result).into_owned());
            if self.goal.is_some() {
                bar.inc(1);
            } else {
                bar.set_prefix(units::count(self.done, "input"));
            }
        }
        let is_due = |shown: &mut Shown| {
            let is_due = is_verbose() || shown.bar.is_none() && shown.last_line.elapsed() >= EVERY;
            shown.last_line = if is_due { Instant::now() } else { shown.last_line };
            is_due
        };
        if shown().as_mut().is_some_and(is_due) {
            let done = match self.goal {
                Some(goal) => format!("{} of {}", self.done, units::count(goal, "input")),
                None => units::count(self.done, "input"),
            };
            self.print(|| status(&format!("{done}, {}: {result}\n", units::duration(self.start.elapsed()))));
        }
    }

    /// Reports a message to the user.
    pub fn message(&mut self, text: &str) {
        self.print(|| status(&format!("{text}\n")));
    }

    /// Reports a warning to the user.
    pub fn warning(&mut self, text: &str) {
        self.print(|| warning(text));
    }

    /// The run ends.
    pub fn finish(&mut self) {
        *shown() = None;
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Prints above the bar.
    fn print(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

fn bar(done: u64, goal: Option<u64>, max_time: Option<Duration>, start: Instant) -> ProgressBar {
    let (length, template) = match (goal, max_time) {
        (Some(goal), _) => (Some(goal), "{bar:20} {pos} of {len} inputs, {left} left: {wide_msg}"),
        (None, Some(_)) => (None, "{gauge} {prefix}, {time}: {wide_msg}"),
        (None, None) => (None, "{spinner} {prefix}, {time}: {wide_msg}"),
    };
    let time = move |_: &ProgressState, line: &mut dyn std::fmt::Write| {
        let _ = match max_time {
            // The last input may end after the limit.
            Some(limit) => {
                let elapsed = start.elapsed().min(limit);
                write!(line, "{} of {}", units::duration(elapsed), units::duration(limit))
            }
            None => write!(line, "{}", units::duration(start.elapsed())),
        };
    };
    // Moves while an input is measured, too.
    let gauge = move |_: &ProgressState, line: &mut dyn std::fmt::Write| {
        let share = max_time.map_or(0.0, |limit| start.elapsed().as_secs_f64() / limit.as_secs_f64());
        let _ = write!(line, "{:░<20}", "█".repeat((20.0 * share.min(1.0)) as usize));
    };
    let left = |state: &ProgressState, line: &mut dyn std::fmt::Write| {
        let _ = write!(line, "{}", units::duration(state.eta()));
    };
    let bar = ProgressBar::no_length().with_position(if goal.is_some() { done } else { 0 });
    if let Some(length) = length {
        bar.set_length(length);
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("time", time).with_key("gauge", gauge).with_key("left", left));
    }
    // The bar panics if it cannot start a thread.
    if std::thread::Builder::new().spawn(|| ()).is_ok() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}
