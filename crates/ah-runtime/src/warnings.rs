//! Warnings that are not repeated.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

/// Warns through the `log` crate, unless the warning is the same as the one before it.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<String>);

impl Warnings {
    pub(crate) fn warn(&self, warning: impl Display) {
        let warning = warning.to_string();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != warning {
            log::warn!("{warning}");
            *last = warning;
        }
    }
}
