//! Why a heuristic declines.

use crate::shown::quoted;

/// Why a heuristic declines. Slots count the logged features first and the derived ones after them;
/// [`explain`](Self::explain) names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{}", self.explain(&[]))]
#[non_exhaustive]
pub enum Unsure {
    /// The context is outside the domain.
    Precondition,
    /// The feature in this slot has no value.
    Undefined(usize),
    /// The feature in this slot has a category that is not in the training data.
    UnknownCategory(usize),
    /// No choice of the leaf's ranking is both offered and allowed by the promise.
    NoneAllowed,
}

impl Unsure {
    /// The reason in words. `names` are the names of all features by slot; a feature without one is named by its slot.
    pub fn explain(self, names: &[&str]) -> String {
        let feature =
            |slot: usize| names.get(slot).map_or_else(|| format!("in slot {slot}"), |name| quoted(name));
        match self {
            Self::Precondition => "the precondition of the heuristic does not hold".to_owned(),
            Self::Undefined(slot) => format!("the feature {} is undefined here", feature(slot)),
            Self::UnknownCategory(slot) => {
                format!("the feature {} has a category that training never saw", feature(slot))
            }
            Self::NoneAllowed => "no choice that the promise allows is offered".to_owned(),
        }
    }
}
