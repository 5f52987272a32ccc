//! Locks on files that other processes lock too.

use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

/// Locks a file; gives up after `patience`. The system releases the lock of a killed process.
///
/// # Errors
/// I/O errors; `TimedOut` if another process holds the lock all the time.
pub fn lock_within(file: &File, patience: Duration) -> Result<()> {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(e)) => return Err(e),
            Err(TryLockError::WouldBlock) if begin.elapsed() >= patience => {
                return Err(Error::new(ErrorKind::TimedOut, "another process holds its lock"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
