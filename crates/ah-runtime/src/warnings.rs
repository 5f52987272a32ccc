//! Warnings that are not repeated.

use std::io::Write as _;
use std::sync::Mutex;

use ah_measure::lock;

/// Warns unless the warning is the same as the one before it.
#[derive(Debug)]
pub(crate) struct Warnings {
    last: Mutex<String>,
    /// Through the `log` crate, or as [`warn_user`] does.
    warn: fn(&str),
}

impl Warnings {
    /// Warns through the `log` crate, or `of_environment`: as [`warn_user`] does.
    pub(crate) fn new(of_environment: bool) -> Self {
        let warn: fn(&str) = if of_environment { warn_user } else { |warning| log::warn!("{warning}") };
        Self { last: Mutex::default(), warn }
    }

    pub(crate) fn warn(&self, warning: String) {
        let mut last = lock(&self.last);
        if *last != warning {
            (self.warn)(&warning);
            *last = warning;
        }
    }
}

/// Warns of a variable of the environment that cannot be obeyed: through the `log` crate, or on standard error in a
/// program without a logger. Otherwise nobody notices that a run collects nothing.
pub(crate) fn warn_user(warning: &str) {
    if log::max_level() == log::LevelFilter::Off {
        // `eprintln!` panics if standard error is closed.
        let _ = writeln!(std::io::stderr(), "ah-runtime: {warning}");
    } else {
        log::warn!("{warning}");
    }
}
