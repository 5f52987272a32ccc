//! Errors that end a command line.

use std::error::Error;
use std::process::ExitCode;

use ah_types::FileError;
use ah_types::log::LogError;

use crate::exit;
use crate::messages;
use crate::output::OutputError;

/// An error that ends a command line.
pub trait FatalError: Error + Send + 'static {
    /// Returns the [exit code](exit) of a tool that ends with this error.
    fn exit_code(&self) -> u8;
}

impl<E: FatalError> From<E> for Box<dyn FatalError> {
    fn from(error: E) -> Self {
        Box::new(error)
    }
}

impl FatalError for LogError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Io { .. } => exit::IO,
            Self::Malformed { .. } | Self::Metadata { .. } | Self::OtherOptimization { .. } => {
                exit::BAD_INPUT
            }
            Self::Empty { .. } => exit::TOO_LITTLE,
        }
    }
}

impl FatalError for FileError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Io { .. } => exit::IO,
            Self::Invalid(_) => exit::BAD_INPUT,
        }
    }
}

impl FatalError for OutputError {
    fn exit_code(&self) -> u8 {
        exit::IO
    }
}

/// Ends a command line: returns its exit code, or prints its error with all causes on standard error.
pub fn finish(result: Result<u8, impl Into<Box<dyn FatalError>>>) -> ExitCode {
    match result.map_err(Into::into) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            messages::error(&with_causes(&*error));
            ExitCode::from(error.exit_code())
        }
    }
}

/// Returns the message of an error, followed by those of its causes that it does not repeat itself.
fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message.push_str(&format!(": {text}"));
        }
        cause = error.source();
    }
    message
}
