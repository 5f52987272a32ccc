//! The trait of learned heuristics, generated as a crate or read from a model file.

use ah_types::device::DeviceMismatch;
use ah_types::{Device, Scalar};

/// A learned heuristic of one optimization.
///
/// Generated crates implement it under their feature `runtime`, and [`LoadedModel`](crate::LoadedModel)
/// implements it for model files. [`AutoHeuristic`](crate::AutoHeuristic) asks it.
///
/// A decision point compares names once, when it binds the heuristic. [`decide`](Self::decide) is the hot
/// path: it takes values by slot, returns a position, and allocates nothing.
pub trait Heuristic: Send + Sync {
    /// The heuristic's own name, for example `SimpleHeuristic`.
    fn name(&self) -> &str;

    /// The optimization that it decides, for example `pad_mm`.
    fn optimization(&self) -> &str;

    /// The names of the logged features, by slot: the order of `values` in [`decide`](Self::decide).
    fn features(&self) -> Vec<&str>;

    /// The names of the derived features; their slots follow those of the logged features. Only
    /// [`Unsure`] refers to them.
    fn derived(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The names of the choices, by the positions that `decide` and `ranked` return.
    fn choices(&self) -> Vec<&str>;

    /// Checks the device guard: whether the heuristic was learned on a device like this one.
    ///
    /// # Errors
    /// The difference, with both values.
    fn admits(&self, device: &Device) -> Result<(), DeviceMismatch>;

    /// Returns the position of the choice to take, among those for which `offered` is true.
    ///
    /// `values` follow the slots of [`features`](Self::features): numbers for numerical features, categories or
    /// truth values for categorical ones. A missing value, or one of the other kind, is undefined.
    ///
    /// # Errors
    /// Why the heuristic declines.
    fn decide(&self, values: &[Scalar<'_>], offered: &dyn Fn(usize) -> bool) -> Result<usize, Unsure>;

    /// Returns the position of the choice to take where the program does not say what it offers: training
    /// measured it on nearly every input of the leaf.
    ///
    /// # Errors
    /// Why the heuristic declines.
    fn choose(&self, values: &[Scalar<'_>]) -> Result<usize, Unsure> {
        self.decide(values, &|_| true)
    }

    /// Calls `visit` with the position of each choice in the leaf's ranking, best first, for autotuning. The
    /// ranking includes choices that the promise does not allow.
    ///
    /// # Errors
    /// Why there is no ranking for these values.
    fn ranked(&self, values: &[Scalar<'_>], visit: &mut dyn FnMut(usize)) -> Result<(), Unsure>;
}

/// Why a heuristic declines. Slots count [`Heuristic::features`] first and derived features after them;
/// [`explain`](Self::explain) names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unsure {
    /// The context is outside the domain.
    #[error("the precondition of the heuristic does not hold")]
    Precondition,
    /// The feature in this slot has no value.
    #[error("the feature in slot {0} is undefined here")]
    Undefined(usize),
    /// The feature in this slot has a category that training never saw.
    #[error("the feature in slot {0} has a category that training never saw")]
    UnknownCategory(usize),
    /// The leaf's best choice is not probable enough.
    #[error("low confidence")]
    LowConfidence,
    /// The leaf's best choice may be too slow.
    #[error("unsafe leaf")]
    UnsafeLeaf,
    /// The values are outside of what training saw in the leaf.
    #[error("outside of what was measured")]
    Outside,
    /// No choice of the leaf's ranking is both offered and allowed by the promise.
    #[error("no choice that the promise allows is offered")]
    NoneAllowed,
}

impl Unsure {
    /// Returns the reason in words, with the feature's name instead of its slot.
    #[must_use]
    pub fn explain(self, heuristic: &dyn Heuristic) -> String {
        let name = |slot: usize| {
            let mut names = heuristic.features();
            names.extend(heuristic.derived());
            names.get(slot).map_or_else(|| format!("slot {slot}"), |name| format!("{name:?}"))
        };
        match self {
            Self::Undefined(slot) => format!("the feature {} is undefined here", name(slot)),
            Self::UnknownCategory(slot) => {
                format!("the feature {} has a category that training never saw", name(slot))
            }
            other => other.to_string(),
        }
    }
}
