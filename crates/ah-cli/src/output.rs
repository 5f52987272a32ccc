//! The two output streams: standard output is data, standard error is messages.

use std::io::{self, Write};

use crate::{Failure, exit};

/// Standard output cannot be written.
#[derive(Debug)]
pub struct OutputError(io::Error);

impl std::fmt::Display for OutputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write standard output: {}", self.0)
    }
}

impl std::error::Error for OutputError {}

impl Failure for OutputError {
    fn exit_code(&self) -> u8 {
        exit::IO
    }
}

/// Writes `text` to standard output. A closed pipe (`| head`) is no error.
///
/// # Errors
/// [`OutputError`] where it cannot be written, for example on a full disk.
pub fn stdout(text: &str) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(OutputError(e)),
        _ => Ok(()),
    }
}

/// Writes `text` to standard error. Where that is closed or full, the message is lost and the work
/// goes on: `eprintln!` would panic.
pub fn stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
