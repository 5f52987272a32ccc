//! Warnings that are not repeated.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Mutex;

use crate::lock::lock;

/// The most warnings of one kind of trouble; what comes after them says nothing new.
const MOST: usize = 100;

/// Gives each warning once.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    given: Mutex<BTreeSet<String>>,
}

impl Warnings {
    /// Warns through the `log` crate.
    pub(crate) fn warn(&self, warning: String) {
        self.once(warning, |warning| log::warn!("{warning}"));
    }

    /// Warns as [`warn_user`] does.
    pub(crate) fn warn_user(&self, warning: String) {
        self.once(warning, warn_user);
    }

    fn once(&self, warning: String, warn: fn(&str)) {
        let mut given = lock(&self.given);
        if given.len() < MOST && !given.contains(&warning) {
            warn(&warning);
            given.insert(warning);
        }
    }
}

/// Warns of what the person who runs the program asked for and does not get: through the `log` crate, or on standard error where
/// no logger takes warnings. Otherwise nobody notices that a run collects nothing.
pub(crate) fn warn_user(warning: &str) {
    if log::log_enabled!(log::Level::Warn) {
        log::warn!("{warning}");
    } else {
        // `eprintln!` panics if standard error is closed.
        let _ = writeln!(std::io::stderr(), "ah-runtime: {warning}");
    }
}
