//! Measurements of a program at a decision point: measured by it, or given to it, and appended to the log.

use std::path::Path;

use ah_model::{Error, Scalar};
use ah_types::{Failure, Outcome};

use super::answer::Answer;
use super::auto_heuristic::AutoHeuristic;
use crate::panics::{caught, reason};

impl AutoHeuristic {
    /// The log that measurements are appended to; `None` if the user has no folder for it.
    #[must_use]
    pub fn log_path(&self) -> Option<&Path> {
        self.recorder.path.as_deref()
    }

    /// Chooses. If this run collects, it instead measures every choice with `feedback`, appends the outcomes to
    /// the log, and takes the fallback. `feedback` returns milliseconds, [`Failure::skipped`] or [`Failure::failed`]. A choice
    /// whose measurement panics has failed.
    ///
    /// A failure to append, or a time that is not above 0, is a warning of the `log` crate, on standard error where no logger takes
    /// warnings. The answer is still the fallback.
    pub fn choose_or_collect(
        &self,
        values: &[Scalar<'_>],
        mut feedback: impl FnMut(&str) -> Outcome,
    ) -> Answer<'_> {
        if self.collects && self.precondition_holds(values) {
            let mut outcome = |choice: &str| {
                caught(|| feedback(choice)).unwrap_or_else(|panic| Err(Failure::failed(reason(&*panic))))
            };
            let outcomes = self.interface.choices.iter().map(|choice| (choice.as_str(), outcome(choice)));
            if let Err(error) = self.append(values, outcomes) {
                self.warn_unrecorded(&error);
            }
        }
        self.choose(values)
    }

    /// Appends the program's own measurements to the log, if this run collects. Returns true if it appended; without a time or a
    /// failure there is nothing to append.
    ///
    /// # Errors
    /// [`Error`]: an unknown choice, a time that is not above 0, an undefined feature, more values than features, or the log cannot be
    /// written. Then the log has none of these measurements.
    pub fn record_timings<'a>(
        &self,
        values: &[Scalar<'_>],
        timings: impl IntoIterator<Item = (&'a str, Outcome)>,
    ) -> Result<bool, Error> {
        if !self.collects || !self.precondition_holds(values) {
            return Ok(false);
        }
        self.append(values, timings)
    }

    /// Appends to the log, whether this run collects or not. Returns true if it appended.
    pub(crate) fn append<'a>(
        &self,
        values: &[Scalar<'_>],
        timings: impl IntoIterator<Item = (&'a str, Outcome)>,
    ) -> Result<bool, Error> {
        self.recorder.append(&self.interface, values, timings)
    }

    /// Warns that measurements are not in the log.
    pub(crate) fn warn_unrecorded(&self, error: &Error) {
        self.warnings.warn_user(format!("{}: measurements are lost: {error}", self.interface.name));
    }
}
