//! Filled in by the crate's author.
