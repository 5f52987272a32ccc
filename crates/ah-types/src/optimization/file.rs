//! Reads optimizations: built-in ones by name, others from TOML files.

use std::path::Path;

use super::definition::Optimization;
use super::error::OptimizationError;
use crate::artefact;

/// The largest file that is read.
const MAX_MIB: u64 = 16;

macro_rules! built_in {
    ($($file:literal),* $(,)?) => {
        /// The built-in optimizations: each file's name and text.
        const BUILT_IN: &[(&str, &str)] = &[$(($file, include_str!(concat!($file, ".toml")))),*];
    };
}
built_in!["pad_mm", "mm", "mixed_mm", "softmax", "flex_attention"];

impl Optimization {
    /// Returns the names of the built-in optimizations.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns the built-in optimization of this name.
    ///
    /// # Errors
    /// [`OptimizationError::Unknown`] lists the names that exist.
    pub fn built_in(name: &str) -> Result<Self, OptimizationError> {
        let (file, text) =
            BUILT_IN.iter().find(|(n, _)| *n == name).ok_or_else(|| OptimizationError::Unknown {
                name: name.to_owned(),
                known: Self::built_in_names().map(str::to_owned).collect(),
            })?;
        Self::parse(text, Path::new(&format!("{file}.toml")))
    }

    /// Reads an optimization from a TOML file.
    ///
    /// # Errors
    /// [`OptimizationError`] with the file and, for bad TOML, line and column.
    pub fn read(path: &Path) -> Result<Self, OptimizationError> {
        let text = artefact::read_text(path, MAX_MIB)
            .map_err(|source| OptimizationError::Io { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    /// Reads an optimization from TOML that a program embeds.
    ///
    /// # Errors
    /// [`OptimizationError`] with line and column; it calls the file `embedded.toml`.
    pub fn from_toml(text: &str) -> Result<Self, OptimizationError> {
        Self::parse(text, Path::new("embedded.toml"))
    }

    fn parse(text: &str, path: &Path) -> Result<Self, OptimizationError> {
        let optimization: Self = toml::from_str(text).map_err(|e| OptimizationError::toml(path, &e))?;
        optimization.schema()?;
        Ok(optimization)
    }
}
