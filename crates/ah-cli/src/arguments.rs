//! The flags that all command lines share, built on clap.

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command, Parser};

use crate::messages::set_style;

/// The flags for what a tool prints.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Terminal")]
pub struct TerminalFlags {
    /// Print only results, warnings and errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print details too
    #[arg(long, short, global = true)]
    verbose: bool,
}

impl TerminalFlags {
    /// Sets the style of all messages of this process.
    pub fn apply(self) {
        set_style(self.quiet, self.verbose);
    }
}

/// Parses this process's arguments. Wrong ones, `--help` and `--version` end the process.
pub fn parse<T: Parser>() -> T {
    T::from_arg_matches(&matches(T::command(), std::env::args_os().collect())).unwrap_or_else(|e| e.exit())
}

/// The version of the tools, with the commit where it is known: `0.2.0 (1b6064bfa)`.
fn version() -> &'static str {
    const COMMIT: &str = env!("AH_COMMIT");
    if COMMIT.is_empty() {
        return env!("CARGO_PKG_VERSION");
    }
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("AH_COMMIT"), ")")
}

/// Matches these arguments against a command, the program's name included; see [`parse`].
pub fn matches(command: Command, arguments: Vec<OsString>) -> clap::ArgMatches {
    command.version(version()).get_matches_from(arguments)
}

/// This process's command line without one flag, quoted for a shell. `spellings` are the words that the flag may be.
#[cfg(feature = "color")]
pub fn command_without(spellings: &[&[&str]]) -> String {
    let mut words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    for flag in spellings {
        if let Some(at) = words.windows(flag.len()).position(|found| found == *flag) {
            words.drain(at..at + flag.len());
        }
    }
    // No argument of a process holds a NUL, which alone cannot be quoted.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}

/// The parser of a flag that takes one of these names.
pub fn one_of<T: Clone + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(values.each_ref().map(|(name, _)| *name));
    names.try_map(move |found| {
        let value = values.iter().find(|(name, _)| *name == found);
        value.map(|(_, value)| value.clone()).ok_or("not a possible value")
    })
}
