//! The tools in one program, so that the Python wheel holds their shared code once: 3 programs would take 3 times the space.
//!
//! The name by which it is started says which tool it is: `ah-collect`, `ah-train` or `ah-codegen`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match tool(&name) {
        Some(main) => main(),
        None => {
            ah_cli::error(&format!(
                "expected to be started as ah-collect, ah-train or ah-codegen, found {name:?}"
            ));
            ExitCode::from(ah_cli::exit::USAGE)
        }
    }
}

/// The main function of a tool.
fn tool(name: &str) -> Option<fn() -> ExitCode> {
    match name {
        "ah-collect" => Some(ah_collect::tool::main),
        "ah-train" => Some(ah_train::tool::main),
        "ah-codegen" => Some(ah_codegen::tool::main),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    /// The faults of the examples in the help texts of a command and its subcommands: each needs one,
    /// and each must be a valid command line.
    fn wrong_examples(command: &Command) -> Vec<String> {
        let tool = command.get_name();
        let of = |part: &Command| part.get_after_help().map(ToString::to_string).unwrap_or_default();
        let mut wrong = Vec::new();
        for part in std::iter::once(command).chain(command.get_subcommands()) {
            if part.get_name() == "help" {
                continue;
            }
            let help = of(part);
            let examples: Vec<&str> =
                help.lines().map(str::trim).filter(|line| line.starts_with(&format!("{tool} "))).collect();
            if examples.is_empty() {
                wrong.push(format!("{} has no example", part.get_name()));
            }
            for example in examples {
                if let Err(e) = command.clone().try_get_matches_from(example.split_whitespace()) {
                    wrong.push(format!("{example}: {e}"));
                }
            }
        }
        wrong
    }

    #[test]
    fn every_help_text_has_examples_that_are_valid() {
        for command in [ah_collect::tool::command(), ah_train::tool::command(), ah_codegen::tool::command()] {
            command.clone().debug_assert();
            assert_eq!(wrong_examples(&command), Vec::<String>::new(), "{}", command.get_name());
        }
    }
}
