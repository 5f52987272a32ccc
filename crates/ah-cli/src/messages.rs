//! Messages on standard error: errors, warnings, notes and the progress of the work, in one style.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::output::stderr;

/// When the labels of messages are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// How much a tool prints on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// The progress of the work too.
    #[default]
    Normal,
    /// Details too.
    Verbose,
}

static COLORED: AtomicBool = AtomicBool::new(false);
static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Normal as u8);

/// Sets the style of all messages of this process.
pub fn set_style(color: Color, verbosity: Verbosity) {
    let colored = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let forbids = |name, is: fn(&str) -> bool| std::env::var(name).is_ok_and(|value| is(&value));
            let forbidden = forbids("NO_COLOR", |v| !v.is_empty()) || forbids("TERM", |v| v == "dumb");
            !forbidden && std::io::stderr().is_terminal()
        }
    };
    COLORED.store(colored, Ordering::Relaxed);
    VERBOSITY.store(verbosity as u8, Ordering::Relaxed);
}

/// Returns true if the tool prints only results, warnings and errors (`-q`).
pub fn is_quiet() -> bool {
    VERBOSITY.load(Ordering::Relaxed) == Verbosity::Quiet as u8
}

/// Returns true if the tool prints details too (`-v`).
pub fn is_verbose() -> bool {
    VERBOSITY.load(Ordering::Relaxed) == Verbosity::Verbose as u8
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
