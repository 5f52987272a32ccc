//! Messages on standard error: errors, warnings, notes and the progress of the work, in one style.

#[cfg(feature = "cli")]
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::stderr;

static COLORED: AtomicBool = AtomicBool::new(false);
static QUIET: AtomicBool = AtomicBool::new(false);
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Sets how much this process prints. Its messages are coloured on a terminal, unless `NO_COLOR` is set, and everywhere if
/// `CLICOLOR_FORCE` is.
#[cfg(feature = "cli")]
pub(crate) fn set_style(quiet: bool, verbose: bool) {
    let is = |name, value: fn(&str) -> bool| std::env::var(name).is_ok_and(|found| value(&found));
    let forbidden = is("NO_COLOR", |v| !v.is_empty()) || is("TERM", |v| v == "dumb");
    let forced = is("CLICOLOR_FORCE", |v| !["", "0"].contains(&v));
    COLORED.store(!forbidden && (forced || std::io::stderr().is_terminal()), Ordering::Relaxed);
    QUIET.store(quiet, Ordering::Relaxed);
    VERBOSE.store(verbose, Ordering::Relaxed);
}

/// Whether the tool prints only results, warnings and errors (`-q`).
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Whether the tool prints details too (`-v`).
pub fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// Prints an error.
pub fn error(text: &str) {
    message("error", "1;31", text);
}

/// Prints a warning: the work goes on, and its result may be less than expected.
pub fn warning(text: &str) {
    message("warning", "1;33", text);
}

/// Prints advice, except with `-q`.
pub fn note(text: &str) {
    if !is_quiet() {
        message("note", "1;36", text);
    }
}

/// Prints lines about the progress of the work, except with `-q`.
pub fn status(lines: &str) {
    if !is_quiet() {
        stderr(lines);
    }
}

/// Prints details, with `-v`.
pub fn detail(lines: &str) {
    if is_verbose() {
        stderr(lines);
    }
}

fn message(label: &str, style: &str, text: &str) {
    let text = crate::printable(text);
    crate::output::raw_stderr(&if COLORED.load(Ordering::Relaxed) {
        format!("\u{1b}[{style}m{label}:\u{1b}[0m {text}\n")
    } else {
        format!("{label}: {text}\n")
    });
}
