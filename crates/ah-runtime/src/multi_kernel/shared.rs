//! Files of picks that processes share: each writes the picks it measures, and reads those of the others.

use std::path::PathBuf;

use super::picks::{self, KernelSet, Pick, PicksError, Stamp, Table};
use crate::sync::{Mutex, lock};

/// A file of picks. It is read again after another process changes it.
#[derive(Debug)]
pub(super) struct SharedFile {
    path: PathBuf,
    stamp: Mutex<Stamp>,
    /// Limit in bytes of all files in its folder; `None` for a recording.
    limit: Option<u64>,
    /// Picks that another process's lock kept from being written. The next write includes them.
    waiting: Mutex<Vec<Pick>>,
}

impl SharedFile {
    pub(super) fn new(path: PathBuf, limit: Option<u64>) -> Self {
        Self { path, stamp: Mutex::default(), limit, waiting: Mutex::default() }
    }

    /// Marks a file under a limit as used, so that longer unused ones are deleted first.
    pub(super) fn touch(&self) {
        if self.limit.is_some() {
            *lock(&self.stamp) = picks::touch(&self.path);
        }
    }

    /// Returns true if the file has changed since it was read.
    pub(super) fn has_changed(&self) -> bool {
        picks::changed(&self.path, &lock(&self.stamp))
    }

    /// Reads the file's picks; none if there is no file.
    pub(super) fn read(&self, kernels: &KernelSet) -> Result<Vec<Pick>, PicksError> {
        let Some((picks, stamp)) = picks::read(&self.path, kernels)? else { return Ok(Vec::new()) };
        *lock(&self.stamp) = stamp;
        Ok(picks)
    }

    /// Adds a pick to the file, with those that wait. `own` has the treatments of this process's dimensions.
    pub(super) fn write(
        &self,
        kernels: &KernelSet,
        own: &Table,
        max_picks: usize,
        pick: &Pick,
    ) -> Result<(), PicksError> {
        let mut new = std::mem::take(&mut *lock(&self.waiting));
        new.push(pick.clone());
        let written = picks::update(&self.path, kernels, |there| {
            // A fresh table merges by key, and lets the dimensions of both sides become dynamic.
            let mut table = own.emptied();
            for pick in there {
                if table.len() < max_picks {
                    table.insert(pick);
                }
            }
            for pick in &new {
                table.insert(pick.clone());
            }
            table.picks().into_iter().cloned().collect()
        });
        // The file may hold picks that this process has not read. The old stamp stays, so that the next miss
        // reads them.
        if written.is_err() {
            let mut waiting = lock(&self.waiting);
            waiting.extend(new);
            let excess = waiting.len().saturating_sub(max_picks);
            waiting.drain(..excess);
        } else if let (Some(limit), Some(folder)) = (self.limit, self.path.parent()) {
            picks::evict(folder, limit, &self.path);
        }
        written
    }
}
