//! The end of a command line: its error, and its exit code.

use std::process::ExitCode;

use ah_model::Error;

use crate::{exit, messages};

/// Returns the [exit code](exit) of a tool that ends with this error.
pub fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Parameter { .. } | Error::Usage(_) => exit::USAGE,
        Error::Invalid(_) | Error::Malformed(_) | Error::Metadata { .. } => exit::BAD_INPUT,
        Error::TooLittle(_) => exit::TOO_LITTLE,
        Error::Device(_) => exit::DEVICE,
        Error::Io { .. } => exit::IO,
    }
}

/// Ends a command line: returns its exit code, or prints its error on standard error.
pub fn finish(result: Result<u8, Error>) -> ExitCode {
    ExitCode::from(result.unwrap_or_else(|error| {
        messages::error(&error.to_string());
        exit_code(&error)
    }))
}
