//! Warnings that are not repeated.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::Mutex;

use crate::sync::lock;

/// Warns through the `log` crate, unless the warning is the same as the one before it.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<String>);

impl Warnings {
    pub(crate) fn warn(&self, warning: impl Display) {
        self.once(warning.to_string(), |warning| log::warn!("{warning}"));
    }

    /// Warns as [`warn_user`] does, unless the warning is the same as the one before it.
    pub(crate) fn warn_user(&self, warning: impl Display) {
        self.once(warning.to_string(), |warning| warn_user(warning));
    }

    fn once(&self, warning: String, report: impl FnOnce(&str)) {
        let mut last = lock(&self.0);
        if *last != warning {
            report(&warning);
            *last = warning;
        }
    }
}

/// Warns of a variable of the environment that cannot be obeyed: through the `log` crate, or on standard error in a
/// program without a logger. Otherwise nobody notices that a run collects nothing.
pub(crate) fn warn_user(warning: impl Display) {
    if log::max_level() == log::LevelFilter::Off {
        // `eprintln!` panics if standard error is closed.
        let _ = writeln!(std::io::stderr(), "ah-runtime: {warning}");
    } else {
        log::warn!("{warning}");
    }
}
