//! Standard output, which is data: a reader that has seen enough (`| head`) is no error, and a
//! full disk is one with a sentence. `println!` panics on both.

use std::io::{self, Write};

use crate::log::LogError;

/// Writes `text` to standard output.
///
/// # Errors
/// [`LogError::Io`] where it cannot be written; a closed pipe is passed over.
pub fn print(text: &str) -> Result<(), LogError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(LogError::Io { path: "standard output".into(), action: "write", source: e })
        }
        _ => Ok(()),
    }
}
