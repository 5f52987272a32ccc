//! The progress of a run on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ah_cli::{is_quiet, is_verbose, printable, status};
use ah_measure::lock;
use indicatif::{ProgressBar, ProgressStyle};

use crate::units;

/// Time between two plain lines.
const EVERY: Duration = Duration::from_secs(5);

/// The run in progress; its threads and workers report to it.
static RUN: Mutex<Option<Progress>> = Mutex::new(None);

struct Progress {
    /// Hidden, except on a terminal.
    bar: ProgressBar,
    done: u64,
    goal: Option<u64>,
    start: Instant,
    last_line: Instant,
}

/// The run starts. The log holds `done` inputs and will hold `goal`; without a goal the run ends after
/// `max_time`, if at all.
pub(crate) fn start(done: u64, goal: Option<u64>, max_time: Option<Duration>) {
    let terminal = std::io::stderr().is_terminal() && !is_quiet();
    let start = Instant::now();
    let bar = if terminal { bar(done, goal, max_time) } else { ProgressBar::hidden() };
    *lock(&RUN) = Some(Progress { bar, done, goal, start, last_line: start });
}

/// The run ends.
pub(crate) fn finish() {
    lock(&RUN).take().iter().for_each(|progress| progress.bar.finish_and_clear());
}

/// Shows what a worker works on, in a long request of a run; an empty text only says that it is alive.
pub(crate) fn working(text: &str) {
    if let (Some(progress), false) = (&mut *lock(&RUN), text.is_empty()) {
        progress.show(text, false, || format!("{text}\n"));
    }
}

/// One more input is done; `result` is its winner and its features in a few words.
pub(crate) fn input_done(result: &str) {
    let Some(progress) = &mut *lock(&RUN) else { return };
    progress.done += 1;
    let (done, goal, start) = (progress.done, progress.goal, progress.start);
    progress.bar.inc(1);
    progress.bar.set_prefix(units::count(done, "input"));
    progress.show(result, is_verbose(), || {
        let done = match goal {
            Some(goal) => format!("{done} of {}", units::count(goal, "input")),
            None => units::count(done, "input"),
        };
        format!("{done}, {}: {result}\n", units::duration(start.elapsed()))
    });
}

/// Reports a message to the user.
pub(crate) fn message(text: &str) {
    above_the_bar(lock(&RUN).as_ref(), || status(&format!("{text}\n")));
}

/// Reports a warning to the user.
pub(crate) fn warning(text: &str) {
    above_the_bar(lock(&RUN).as_ref(), || ah_cli::warning(text));
}

fn above_the_bar(progress: Option<&Progress>, print: impl FnOnce()) {
    match progress {
        Some(progress) => progress.bar.suspend(print),
        None => print(),
    }
}

impl Progress {
    /// Shows a text in the bar, or a line if one is due, and always with `prints`.
    fn show(&mut self, text: &str, prints: bool, line: impl FnOnce() -> String) {
        self.bar.set_message(printable(text).into_owned());
        if prints || self.bar.is_hidden() && self.last_line.elapsed() >= EVERY {
            self.last_line = Instant::now();
            above_the_bar(Some(self), || status(&line()));
        }
    }
}

fn bar(done: u64, goal: Option<u64>, max_time: Option<Duration>) -> ProgressBar {
    let limit = max_time.map(|limit| format!(" of {}", units::duration(limit))).unwrap_or_default();
    let (bar, template) = match goal {
        Some(goal) => (
            ProgressBar::new(goal).with_position(done),
            "{bar:20} {pos} of {len} inputs, {eta} left: {wide_msg}".to_owned(),
        ),
        None => {
            (ProgressBar::no_length(), format!("{{spinner}} {{prefix}}, {{elapsed}}{limit}: {{wide_msg}}"))
        }
    };
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    // The bar panics if it cannot start a thread.
    if std::thread::Builder::new().spawn(|| ()).is_ok() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}
