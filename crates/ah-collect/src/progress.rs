//! The progress of a run on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ah_cli::{is_quiet, is_verbose, printable, status};
use ah_measure::lock;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::units;

/// Time between two plain lines.
const EVERY: Duration = Duration::from_secs(5);

/// The progress of a run. Clones report to the same run; nothing is shown before it starts, except messages.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<Option<Run>>>);

struct Run {
    /// Hidden, except on a terminal.
    bar: ProgressBar,
    last_line: Instant,
}

impl Progress {
    /// Starts the run. The log holds `done` inputs and will hold `goal`; without a goal the run ends after `max_time`, if at
    /// all.
    pub(crate) fn start(&self, done: u64, goal: Option<u64>, max_time: Option<Duration>) {
        let terminal = std::io::stderr().is_terminal() && !is_quiet();
        let hidden = || ProgressBar::with_draw_target(goal, ProgressDrawTarget::hidden()).with_position(done);
        let bar = if terminal { bar(done, goal, max_time) } else { hidden() };
        *lock(&self.0) = Some(Run { bar, last_line: Instant::now() });
    }

    /// Ends the run.
    pub(crate) fn finish(&self) {
        lock(&self.0).take().iter().for_each(|run| run.bar.finish_and_clear());
    }

    /// Shows what a worker works on, in a long request; an empty text only says that it is alive.
    pub(crate) fn working(&self, text: &str) {
        if let (Some(run), false) = (&mut *lock(&self.0), text.is_empty()) {
            run.show(text, false, || format!("{text}\n"));
        }
    }

    /// Counts one more input; `result` is its winner and its features in a few words.
    pub(crate) fn input_done(&self, result: &str) {
        let mut run = lock(&self.0);
        let Some(run) = &mut *run else { return };
        run.bar.inc(1);
        let done = run.bar.position();
        run.bar.set_prefix(units::count(done, "input"));
        let of_goal = match run.bar.length() {
            Some(goal) => format!("{done} of {}", units::count(goal, "input")),
            None => units::count(done, "input"),
        };
        let elapsed = units::duration(run.bar.elapsed());
        run.show(result, is_verbose(), || format!("{of_goal}, {elapsed}: {result}\n"));
    }

    /// Reports a message to the user.
    pub(crate) fn message(&self, text: &str) {
        above_the_bar(lock(&self.0).as_ref(), || status(&format!("{text}\n")));
    }

    /// Reports a warning to the user.
    pub(crate) fn warning(&self, text: &str) {
        above_the_bar(lock(&self.0).as_ref(), || ah_cli::warning(text));
    }
}

fn above_the_bar(run: Option<&Run>, print: impl FnOnce()) {
    match run {
        Some(run) => run.bar.suspend(print),
        None => print(),
    }
}

impl Run {
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
