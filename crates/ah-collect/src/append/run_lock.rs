//! The lock that keeps two collectors from measuring the same inputs into one log.

use ah_model::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::options::Shard;

/// Held for the whole run; the system releases it also after a `kill -9`.
///
/// A run of the whole sequence locks the file of outcomes exclusively. The runs of its parts share that
/// lock, and each locks a file of its part, which is removed at the end.
#[derive(Debug)]
pub(super) struct RunLock(Option<(PathBuf, File)>);

impl RunLock {
    /// Takes the lock of this part of the sequence; `outcomes` is the file beside `log`.
    pub(super) fn take(log: &Path, shard: Shard, outcomes: &File) -> Result<Self, Error> {
        if shard.is_whole() {
            locked(log, shard, outcomes.try_lock())?;
            return Ok(Self(None));
        }
        locked(log, shard, outcomes.try_lock_shared())?;
        let mut path = log.as_os_str().to_owned();
        path.push(format!(".{}.lock", shard.to_string().replace('/', "-of-")));
        let path = PathBuf::from(path);
        loop {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(Error::io(&path, "open"))?;
            locked(log, shard, file.try_lock())?;
            // A run that ended since this one opened the file has removed it; the lock of a removed file holds nobody off.
            if is_at(&file, &path) {
                return Ok(Self(Some((path, file))));
            }
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether this path still names the open file.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |m: std::fs::Metadata| (m.dev(), m.ino());
    let (open, named) = (file.metadata().map(identity), std::fs::metadata(path).map(identity));
    open.is_ok_and(|open| named.is_ok_and(|named| open == named))
}

fn locked(log: &Path, shard: Shard, result: Result<(), TryLockError>) -> Result<(), Error> {
    match result {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::io(log, "lock")(std::io::Error::other(format!(
            "another collector measures part {shard} of this sequence; wait until it ends, share the work \
             (--shard 1/2 here and --shard 2/2 there), or write to another file (-o)"
        )))),
        Err(TryLockError::Error(source)) => Err(Error::io(log, "lock")(source)),
    }
}
