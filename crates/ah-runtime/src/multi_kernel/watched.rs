//! The verdicts on watched calls: a pick that has become slow is forgotten, and drift is reported.

use ah_types::Scalar;

use super::event::Event;
use super::picker::Picker;
use super::watch::{PromiseWatch, SlowPick};
use crate::drift::DriftReport;
use crate::sync::lock;

impl Picker {
    /// Judges the milliseconds of a watched call of this kernel.
    pub(super) fn judge(&self, kernel: usize, values: &[Scalar<'_>], ms: f64) {
        let Some(watcher) = &self.watcher else { return };
        let table = self.table.load();
        let (Ok(key), Some(pick)) = (table.key(values), table.find(values)) else { return };
        // A kernel chosen by a heuristic or the environment promises nothing.
        if pick.kernel != kernel {
            return;
        }
        if let Some(watched_ms) = watcher.add(key, ms, pick.promised_ms) {
            // Another thread may have found it slow too, and have measured it again already.
            self.change(|table| {
                if table.promises(key, pick) {
                    table.forget(key);
                    let slow = SlowPick { kernel, promised_ms: pick.promised_ms, watched_ms };
                    lock(&self.slow).insert(key, slow);
                }
            });
        }
    }

    /// Returns what a heuristic answers for these values where its promise is watched: a kernel, or `None` within if it
    /// declines.
    pub(super) fn promised(&self, values: &[Scalar<'_>]) -> Option<Option<usize>> {
        self.promise()?;
        let table = self.table.load();
        if self.forced.is_some() || !table.consults {
            return None;
        }
        let answer = self.decision.choose_among(values, &|kernel| self.is_eligible(&table, kernel, values));
        Some(answer.is_learned().then_some(answer.index))
    }

    /// Adds an audit of the promise: the milliseconds of a decision and of the fallback, in turns.
    pub(super) fn audited(&self, chosen_ms: &[f64], fallback_ms: &[f64]) {
        let Some(promise) = self.promise() else { return };
        let medians = ah_types::median(chosen_ms).zip(ah_types::median(fallback_ms));
        // Declining runs the fallback.
        if promise.drift.add(medians.is_some_and(|(chosen, fallback)| chosen > promise.limit * fallback)) {
            self.events.add(self.decision.name(), Event::Drift(promise.drift.report()));
        }
    }

    pub(super) fn drift(&self) -> Option<DriftReport> {
        Some(self.promise()?.drift.report())
    }

    fn promise(&self) -> Option<&PromiseWatch> {
        self.watcher.as_ref()?.promise.as_ref()
    }
}
