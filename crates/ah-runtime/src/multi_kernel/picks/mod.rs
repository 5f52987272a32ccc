//! Remembered picks: which kernel won, and under which guards it runs again.
//!
//! [`Guard`] tests one feature, `shape_key` hashes a context, `table` finds a pick by key and guards, and `file`
//! stores picks on disk.

mod file;
mod guard;
mod shape_key;
mod table;

pub(super) use file::{Head, read, write};
pub(super) use shape_key::Treatment;
pub(super) use table::{Pick, Table};
