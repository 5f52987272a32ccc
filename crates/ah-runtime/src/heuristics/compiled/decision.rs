//! A compiled model, and one decision by it.

use std::fmt;

use ah_types::{Scalar, Unsure, goes_left};

use super::categories::Categories;

/// Features remembered during a decision; any beyond these are computed at each use. Our learned models use
/// 5 to 30.
pub(super) const REMEMBERED: usize = 48;

/// Marks a feature as not computed yet: a NaN that no arithmetic on other numbers returns.
pub(super) const PENDING: f64 = f64::from_bits(0x7ff8_5045_4e44_494e);

/// Computes a value for the current decision.
pub(super) type Code<T> = Box<dyn Fn(&mut Decision<'_>) -> T + Send + Sync>;

/// A model in the form that decides fast; see the [folder](super).
pub(crate) struct CompiledModel {
    pub(super) categories: Categories,
    /// The computed features. Each comes after the features that it uses.
    pub(super) features: Vec<Feature>,
    pub(super) precondition: Option<Code<Option<bool>>>,
    /// The model's trees, node for node.
    pub(super) trees: Vec<Box<[Node]>>,
}

/// A split or a leaf. Logged and computed numbers share one kind: with two kinds, mispredicted jumps made a
/// decision of `mixed_mm` a third slower.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The threshold, or the category's id.
    pub(super) than: f64,
    /// The feature's position in [`CompiledModel::features`].
    pub(super) feature: u32,
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) kind: NodeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Numerical,
    Categorical,
    Leaf,
}

/// A feature that a decision computes at most once.
pub(super) struct Feature {
    pub(super) slot: usize,
    pub(super) code: Code<f64>,
    /// The ids of the categories that training saw, sorted.
    pub(super) known: Box<[u32]>,
}

/// One decision: the values, and the features computed from them so far.
pub(crate) struct Decision<'a> {
    compiled: &'a CompiledModel,
    values: &'a [Scalar<'a>],
    remembered: [f64; REMEMBERED],
}

impl CompiledModel {
    /// Begins a decision for these values of the logged features, by slot.
    #[inline]
    pub(crate) fn decide<'a>(&'a self, values: &'a [Scalar<'a>]) -> Decision<'a> {
        Decision { compiled: self, values, remembered: [PENDING; REMEMBERED] }
    }
}

impl Decision<'_> {
    /// Returns true if the precondition holds or there is none.
    #[inline]
    pub(crate) fn precondition_holds(&mut self) -> bool {
        self.compiled.precondition.as_ref().is_none_or(|holds| holds(self) == Some(true))
    }

    /// Returns the position of the leaf that the values reach in this tree, by the split rule of
    /// [`ah_types::tree`].
    pub(crate) fn leaf(&mut self, tree: usize) -> Result<usize, Unsure> {
        let nodes = &self.compiled.trees[tree];
        let mut at = 0;
        loop {
            let node = &nodes[at];
            if node.kind == NodeKind::Leaf {
                return Ok(at);
            }
            let feature = node.feature as usize;
            let x = self.computed(feature);
            if x.is_nan() {
                return Err(Unsure::Undefined(self.compiled.features[feature].slot));
            }
            let goes_left = match node.kind {
                NodeKind::Numerical => goes_left(x, node.than),
                _ if x == node.than => false,
                _ if self.knows(feature, x) => true,
                _ => return Err(Unsure::UnknownCategory(self.compiled.features[feature].slot)),
            };
            at = if goes_left { node.left } else { node.right } as usize;
        }
    }

    // Checked to be 0 or more; made from a u32.
    fn knows(&self, feature: usize, category: f64) -> bool {
        category >= 0.0 && self.compiled.features[feature].known.binary_search(&(category as u32)).is_ok()
    }

    /// Returns the logged number in this slot; NaN if undefined.
    #[inline(always)]
    pub(super) fn logged(&self, slot: usize) -> f64 {
        match self.values.get(slot) {
            Some(Scalar::Number(x)) => *x,
            _ => f64::NAN,
        }
    }

    /// Returns the id of the category in this slot; NaN if undefined.
    pub(super) fn category(&self, slot: usize) -> f64 {
        match self.values.get(slot) {
            Some(Scalar::Bool(holds)) => f64::from(*holds),
            Some(Scalar::Category(name)) => self.compiled.categories.id(name),
            Some(Scalar::Number(_)) | None => f64::NAN,
        }
    }

    /// Returns this feature's value; computes it at its first use.
    #[inline(always)]
    pub(super) fn computed(&mut self, feature: usize) -> f64 {
        match self.remembered.get(feature) {
            Some(x) if x.to_bits() != PENDING.to_bits() => *x,
            _ => self.compute(feature),
        }
    }

    #[inline(never)]
    fn compute(&mut self, feature: usize) -> f64 {
        let x = (self.compiled.features[feature].code)(self);
        if let Some(remembered) = self.remembered.get_mut(feature) {
            *remembered = x;
        }
        x
    }
}

impl fmt::Debug for CompiledModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledModel").field("features", &self.features.len()).finish_non_exhaustive()
    }
}
