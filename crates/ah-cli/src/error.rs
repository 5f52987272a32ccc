//! The end of a command line: its error, and its exit code.

use std::process::ExitCode;

use ah_model::Error;

use crate::{exit, messages};

/// The [exit code](exit) of a tool that ends with this error.
pub fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Parameter { .. } | Error::Usage(_) => exit::USAGE,
        Error::TooLittle(_) => exit::TOO_LITTLE,
        Error::Device(_) => exit::DEVICE,
        Error::Io { .. } => exit::IO,
        // Invalid, malformed, or of other metadata.
        _ => exit::BAD_INPUT,
    }
}

/// An error as the user of a command line reads it, where a field is a flag, `--max-leaves` for `max_leaves`, or an argument.
fn message(error: &Error) -> String {
    let Error::Parameter { field, expected, found } = error else { return error.to_string() };
    let name = match *field {
        "logs" => "LOG".to_owned(),
        "tables" => "TABLE".to_owned(),
        field => format!("--{}", field.replace('_', "-")),
    };
    format!("{name}: expected {expected}, found {found}")
}

/// Ends a command line: returns its exit code, or prints its error on standard error.
pub fn finish(result: Result<u8, Error>) -> ExitCode {
    ExitCode::from(result.unwrap_or_else(|error| {
        messages::error(&message(&error));
        exit_code(&error)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_flag() {
        let error = Error::parameter("max_leaves", "1 or more", 0);
        assert_eq!(error.to_string(), "max_leaves: expected 1 or more, found 0");
        assert_eq!(message(&error), "--max-leaves: expected 1 or more, found 0");
        assert_eq!(message(&Error::parameter("logs", "a log", "none")), "LOG: expected a log, found none");
    }
}
