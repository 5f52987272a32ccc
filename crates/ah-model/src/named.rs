//! Values that a person names: in a flag or in an optimization's TOML.

use crate::shown::{did_you_mean, listed, quoted};

/// The value of this name.
///
/// # Errors
/// A sentence with the names that there are; `what` is the kind of value with its article.
pub fn named<T: Copy>(what: &str, names: &[(&str, T)], name: &str) -> Result<T, String> {
    let found = names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let known = || names.iter().map(|(name, _)| *name);
        format!(
            "expected {what} of {}, found {}{}",
            listed(known()),
            quoted(name),
            did_you_mean(name, known())
        )
    })
}
