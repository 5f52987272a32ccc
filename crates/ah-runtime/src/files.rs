//! Files on which a program does not wait.

use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::time::Duration;

/// The longest wait for another process's lock. A write under a lock takes a few milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

/// Fails if there is something else than a regular file at this path: opening a pipe would wait for its other end.
pub(crate) fn expect_regular(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(Error::new(ErrorKind::InvalidInput, "expected a regular file"))
        }
        _ => Ok(()),
    }
}
