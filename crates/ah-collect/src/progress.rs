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

/// The progress of a run. Clones report to the same run.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    last_line: Arc<Mutex<Instant>>,
}

impl Progress {
    /// Shows nothing before the run starts. The bar stays hidden, except on a terminal.
    pub(crate) fn new() -> Self {
        let is_shown = std::io::stderr().is_terminal() && !is_quiet();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        Self { bar, last_line: Arc::new(Mutex::new(Instant::now())) }
    }

    /// Starts the run. The log holds `done` inputs and will hold `goal`; without a goal the run ends after `max_time`, if at
    /// all.
    pub(crate) fn start(&self, done: u64, goal: Option<u64>, max_time: Option<Duration>) {
        let limit = max_time.map(|limit| format!(" of {}", units::duration(limit))).unwrap_or_default();
        let template = match goal {
            Some(_) => "{bar:20} {pos} of {len} inputs, {eta} left: {wide_msg}".to_owned(),
            None => format!("{{spinner}} {{prefix}}, {{elapsed}}{limit}: {{wide_msg}}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            self.bar.set_style(style);
        }
        if let Some(goal) = goal {
            self.bar.set_length(goal);
        }
        self.bar.set_position(done);
        self.bar.reset_elapsed();
        // The bar panics if it cannot start a thread.
        if !self.bar.is_hidden() && std::thread::Builder::new().spawn(|| ()).is_ok() {
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
    }

    /// Ends the run.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows what a worker works on, in a long request; an empty text only says that it is alive.
    pub(crate) fn working(&self, text: &str) {
        if !text.is_empty() {
            self.show(text, false, || format!("{text}\n"));
        }
    }

    /// Counts one more input; `result` is its winner and its features in a few words.
    pub(crate) fn input_done(&self, result: &str) {
        self.bar.inc(1);
        let done = self.bar.position();
        self.bar.set_prefix(units::count(done, "input"));
        let of_goal = match self.bar.length() {
            Some(goal) => format!("{done} of {}", units::count(goal, "input")),
            None => units::count(done, "input"),
        };
        let elapsed = units::duration(self.bar.elapsed());
        self.show(result, is_verbose(), || format!("{of_goal}, {elapsed}: {result}\n"));
    }

    /// Reports a message to the user.
    pub(crate) fn message(&self, text: &str) {
        self.bar.suspend(|| status(&format!("{text}\n")));
    }

    /// Reports a warning to the user.
    pub(crate) fn warning(&self, text: &str) {
        self.bar.suspend(|| ah_cli::warning(text));
    }

    /// Shows a text in the bar, or a line if one is due, and always with `prints`.
    fn show(&self, text: &str, prints: bool, line: impl FnOnce() -> String) {
        self.bar.set_message(printable(text).into_owned());
        let mut last_line = lock(&self.last_line);
        if prints || self.bar.is_hidden() && last_line.elapsed() >= EVERY {
            *last_line = Instant::now();
            self.bar.suspend(|| status(&line()));
        }
    }
}
