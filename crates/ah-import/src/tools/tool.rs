//! A tool: how its records are known and read.

use std::path::Path;

use serde_json::Value as Json;

use super::document::{Misfit, Results};

/// A tool's format.
pub struct Tool {
    /// The name in messages.
    pub name: &'static str,
    /// Returns whether a record is of this tool, by keys that only its records have.
    pub is: fn(&Json) -> bool,
    /// Reads a record.
    pub read: fn(&Json) -> Result<Results, Misfit>,
    /// Completes the rows of all records of a file.
    pub finish: fn(&Path, &mut Results) -> Result<(), Misfit>,
}

impl Tool {
    /// Completes the rows of all records of the file at `path`.
    ///
    /// # Errors
    /// [`Misfit`], as its tool does not write such a file.
    pub fn complete(&self, path: &Path, results: &mut Results) -> Result<(), Misfit> {
        (self.finish)(path, results).map_err(|misfit| self.named(misfit))
    }

    /// Returns the misfit with the tool's name.
    pub fn named(&self, misfit: Misfit) -> Misfit {
        Misfit { expected: format!("{} with {}", self.name, misfit.expected), ..misfit }
    }
}

/// Leaves the rows of a file as its records gave them.
pub fn as_they_are(_: &Path, _: &mut Results) -> Result<(), Misfit> {
    Ok(())
}
