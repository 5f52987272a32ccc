//! How far the run is: a bar on a terminal, a line now and then elsewhere. On standard error.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two plain lines.
const EVERY: Duration = Duration::from_secs(5);

/// Shows how far a run is.
#[derive(Debug)]
pub struct Progress {
    face: Face,
    done: u64,
    goal: Option<u64>,
    start: Instant,
    last: Instant,
}

#[derive(Debug)]
enum Face {
    Bar(ProgressBar),
    Lines,
    Silent,
}

impl Progress {
    /// Of `goal` inputs, `done` are there already. `deadline` counts where there is no goal.
    #[must_use]
    pub fn new(done: u64, goal: Option<u64>, deadline: Option<Duration>) -> Self {
        let now = Instant::now();
        let face =
            if std::io::stderr().is_terminal() { Face::Bar(bar(done, goal, deadline)) } else { Face::Lines };
        Self { face, done, goal, start: now, last: now }
    }

    /// Shows nothing.
    #[must_use]
    pub fn silent() -> Self {
        let now = Instant::now();
        Self { face: Face::Silent, done: 0, goal: None, start: now, last: now }
    }

    /// One more input is done; `last` says what came of it.
    pub fn step(&mut self, last: &str) {
        self.done += 1;
        match &self.face {
            Face::Bar(bar) => {
                bar.set_message(last.to_owned());
                if self.goal.is_some() {
                    bar.inc(1);
                } else {
                    bar.set_position(self.start.elapsed().as_secs());
                    bar.set_prefix(format!("{} inputs", self.done));
                }
            }
            Face::Lines if self.last.elapsed() >= EVERY => {
                self.last = Instant::now();
                let of = self.goal.map_or(String::new(), |g| format!(" of {g}"));
                eprintln!("{}{of} inputs, {:.0} s: {last}", self.done, self.start.elapsed().as_secs_f64());
            }
            Face::Lines | Face::Silent => {}
        }
    }

    /// Says something without tearing the bar.
    pub fn say(&self, text: &str) {
        match &self.face {
            Face::Bar(bar) => bar.suspend(|| eprintln!("{text}")),
            Face::Lines => eprintln!("{text}"),
            Face::Silent => {}
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Face::Bar(bar) = &self.face {
            bar.finish_and_clear();
        }
    }
}

fn bar(done: u64, goal: Option<u64>, deadline: Option<Duration>) -> ProgressBar {
    let (length, template) = match (goal, deadline) {
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
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
