//! Ids for byte strings that come again and again.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

/// Ids of the prefixes and choices of one file by hash of their bytes. The bytes are compared
/// too, so equal hashes cannot mix two inputs up.
pub(super) struct Interned<'a> {
    table: FxHashMap<u64, Vec<(&'a [u8], u32)>>,
    last: Option<(&'a [u8], u32)>,
}

impl<'a> Interned<'a> {
    pub(super) fn new() -> Self {
        Self { table: FxHashMap::default(), last: None }
    }

    /// The id for these bytes; rows of one input mostly follow each other, so the last one is tried first.
    pub(super) fn get<E>(
        &mut self,
        bytes: &'a [u8],
        hasher: FxBuildHasher,
        make: impl FnOnce() -> Result<u32, E>,
    ) -> Result<u32, E> {
        if let Some((last, id)) = self.last
            && last == bytes
        {
            return Ok(id);
        }
        let slot = self.table.entry(hasher.hash_one(bytes)).or_default();
        let id = match slot.iter().find(|(b, _)| *b == bytes) {
            Some((_, id)) => *id,
            None => {
                let id = make()?;
                slot.push((bytes, id));
                id
            }
        };
        self.last = Some((bytes, id));
        Ok(id)
    }
}
