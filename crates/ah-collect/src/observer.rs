//! The trait [`Observer`], which shows the progress of a run.

use std::time::Duration;

/// Follows a run. The silent observer is `()`; the command line's shows a progress bar.
pub trait Observer {
    /// The run starts. The log holds `done` inputs and will hold `goal`; without a goal the run ends after
    /// `max_time`, if at all.
    fn start(&mut self, done: u64, goal: Option<u64>, max_time: Option<Duration>) {
        let _ = (done, goal, max_time);
    }

    /// One more input is done; `result` is its label and winner in a few words.
    fn input_done(&mut self, result: &str) {
        let _ = result;
    }

    /// Reports a message to the user.
    fn message(&mut self, text: &str) {
        let _ = text;
    }

    /// Reports a warning to the user.
    fn warning(&mut self, text: &str) {
        let _ = text;
    }

    /// The run ends.
    fn finish(&mut self) {}
}

impl Observer for () {}
