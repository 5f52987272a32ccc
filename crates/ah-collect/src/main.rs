//! `ah-collect`: see `ah-collect --help` and the library's documentation.

mod cli;

use std::error::Error as _;
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match cli::run(&cli::Cli::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let mut message = error.to_string();
            let mut cause = error.source();
            while let Some(e) = cause {
                let text = e.to_string();
                // A transparent error repeats its cause.
                if !message.contains(&text) {
                    message.push_str(&format!(": {text}"));
                }
                cause = e.source();
            }
            eprintln!("error: {message}");
            ExitCode::from(error.exit_code())
        }
    }
}
