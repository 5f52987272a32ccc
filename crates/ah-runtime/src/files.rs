//! Files on which a program does not wait.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::time::{Duration, Instant};

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

/// Opens a regular file for appending, or makes it and its folder.
pub(crate) fn open_to_append(path: &Path) -> Result<File> {
    expect_regular(path)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(path)
}

/// Locks a file; gives up after [`PATIENCE`].
pub(crate) fn lock(file: &File) -> Result<()> {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(e)) => return Err(e),
            Err(TryLockError::WouldBlock) if begin.elapsed() >= PATIENCE => {
                return Err(Error::new(ErrorKind::TimedOut, "another process holds its lock"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
