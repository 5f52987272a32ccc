//! The text of a TOML file.

use std::path::Path;

use super::error::OptimizationError;
use crate::artefact;

/// The largest file that is read.
const MAX_MIB: u64 = 16;

/// Reads the text of a TOML file.
pub(super) fn read(path: &Path) -> Result<String, OptimizationError> {
    artefact::read_text(path, MAX_MIB)
        .map_err(|source| OptimizationError::Io { path: path.to_owned(), source })
}
