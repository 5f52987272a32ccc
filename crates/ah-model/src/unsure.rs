//! Why a heuristic declines.

use crate::shown::quoted;

/// Why a heuristic declines. Slots count the logged features first and the derived ones after them;
/// [`explain`](Self::explain) names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{}", self.explain_feature(None))]
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
    /// The slot of the feature that is the reason; `None` if none is.
    pub fn slot(self) -> Option<usize> {
        match self {
            Self::Undefined(slot) | Self::UnknownCategory(slot) => Some(slot),
            Self::Precondition | Self::NoneAllowed => None,
        }
    }

    /// The reason in words. `names` are the names of all features by slot; a feature without one is named by its slot.
    pub fn explain(self, names: &[&str]) -> String {
        self.explain_feature(self.slot().and_then(|slot| names.get(slot).copied()))
    }

    /// The reason in words, where its feature has this name; without one it is named by its slot.
    pub fn explain_feature(self, name: Option<&str>) -> String {
        let feature = |slot: usize| name.map_or_else(|| format!("in slot {slot}"), quoted);
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
