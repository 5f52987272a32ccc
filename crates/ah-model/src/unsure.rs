//! Why a heuristic declines.

use crate::shown::quoted;

/// Why a heuristic declines. Slots count the logged features first and the derived ones after them;
/// [`explain`](Self::explain) names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Unsure {
    /// The context is outside the domain.
    #[error("the precondition of the heuristic does not hold")]
    Precondition,
    /// The feature in this slot has no value.
    #[error("the feature in slot {0} is undefined here")]
    Undefined(usize),
    /// The feature in this slot has a category that is not in the training data.
    #[error("the feature in slot {0} has a category that training never saw")]
    UnknownCategory(usize),
    /// No choice of the leaf's ranking is both offered and allowed by the promise.
    #[error("no choice that the promise allows is offered")]
    NoneAllowed,
}

impl Unsure {
    /// The reason in words. `names` are the names of all features by slot; they replace the slots.
    pub fn explain(self, names: &[&str]) -> String {
        let (Self::Undefined(slot) | Self::UnknownCategory(slot)) = self else { return self.to_string() };
        let name = names.get(slot).map_or_else(|| format!("in slot {slot}"), |name| quoted(name));
        self.to_string().replacen(&format!("in slot {slot}"), &name, 1)
    }
}
