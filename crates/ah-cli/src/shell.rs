//! The subcommand `completions` of the tools.

use clap::{CommandFactory, Subcommand};
use clap_complete::Shell;

use crate::output::{OutputError, stdout};

/// The subcommands that install a tool in a shell.
#[derive(Clone, Debug, Subcommand)]
pub enum ShellCommand {
    /// Print completions for a shell; in Bash: `source <(TOOL completions bash)`
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl ShellCommand {
    /// Prints the completions of the tool `T`.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn print<T: CommandFactory>(&self) -> Result<(), OutputError> {
        let Self::Completions { shell } = self;
        let (mut command, mut text) = (T::command(), Vec::new());
        let name = command.get_name().to_owned();
        clap_complete::generate(*shell, &mut command, name, &mut text);
        stdout(&String::from_utf8_lossy(&text))
    }
}
