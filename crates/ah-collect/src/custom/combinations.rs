//! Combinations of parameters: each is a choice of a command or of a CUDA kernel.

use std::collections::BTreeMap;

use ah_model::FieldValue;

use crate::worker::MOST_CHOICES;

/// The values of each parameter, by name.
pub(super) type Parameters = BTreeMap<String, Vec<FieldValue>>;

/// Every combination of a value for each name.
///
/// # Errors
/// There are more than [`MOST_CHOICES`].
pub(super) fn combinations<'a>(
    parameters: impl Iterator<Item = (&'a String, &'a Vec<FieldValue>)>,
) -> Result<Vec<Vec<(&'a str, &'a FieldValue)>>, String> {
    let mut all: Vec<Vec<_>> = vec![Vec::new()];
    for (name, values) in parameters {
        let pairs: Vec<_> = values.iter().map(|value| (name.as_str(), value)).collect();
        all =
            all.iter().flat_map(|one| pairs.iter().map(move |pair| [&one[..], &[*pair]].concat())).collect();
        if all.len() > MOST_CHOICES {
            return Err(format!("more than {MOST_CHOICES} combinations; list fewer values"));
        }
    }
    Ok(all)
}

/// Whether a shell and the preprocessor take this for a name.
pub(super) fn is_identifier(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}
