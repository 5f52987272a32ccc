//! The files of one target.

use std::collections::BTreeMap;

/// Texts by their `/`-separated paths below the target's place. The empty path is the place itself, a file.
pub type Files = BTreeMap<String, String>;
