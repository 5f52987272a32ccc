//! The subcommands `completions` and `man` of the tools.

use clap::{CommandFactory, Subcommand};
use clap_complete::Shell;

use crate::arguments::command;
use crate::output::{OutputError, stdout};

/// The subcommands that install a tool in a shell.
#[derive(Clone, Debug, Subcommand)]
pub enum ShellCommand {
    /// Print completions for a shell
    #[command(
        after_help = "Examples:\n  In Bash, for the current session:\n    source <(TOOL completions bash)"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of the tool, or of a subcommand
    #[command(after_help = "Examples:\n  Read it:\n    TOOL man | man -l -")]
    Man {
        /// The subcommand
        subcommand: Option<String>,
    },
}

impl ShellCommand {
    /// Prints the completions or the manual page of the tool `T`.
    ///
    /// # Errors
    /// Standard output cannot be written. Ends the process if there is no such subcommand.
    pub fn print<T: CommandFactory>(&self) -> Result<(), OutputError> {
        let mut command = command::<T>();
        let mut text = Vec::new();
        match self {
            Self::Completions { shell } => {
                let name = command.get_name().to_owned();
                clap_complete::generate(*shell, &mut command, name, &mut text);
            }
            Self::Man { subcommand } => {
                command.build();
                let page = match subcommand {
                    None => command,
                    Some(name) => match command.find_subcommand(name) {
                        Some(found) => found.clone(),
                        None => {
                            let kind = clap::error::ErrorKind::InvalidSubcommand;
                            command.error(kind, format!("there is no subcommand {name:?}")).exit()
                        }
                    },
                };
                // Writing to memory does not fail.
                let _ = clap_mangen::Man::new(page).render(&mut text);
            }
        }
        stdout(&String::from_utf8_lossy(&text))
    }
}
