//! A model made ready to decide.
//!
//! [`Model`] says what a decision is; walking its expressions, comparing its categories by name and
//! computing a derived feature at each split that asks for it takes most of one. Here expressions are
//! [closures](code), categories are [numbers](categories), and what is computed in a decision is
//! remembered until its end, whichever splits and trees ask for it again.

mod categories;
mod code;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use ah_types::tree::goes_left;
use ah_types::{FeatureKind, Model, Node as ModelNode, Scalar, Test};
use rustc_hash::FxHashMap;

use crate::heuristic::Unsure;
use categories::Categories;
use code::{Code, Operand, Scope};

/// Features that are remembered while deciding; what lies beyond is computed each time. The models that
/// we learned ask for 5 to 30.
const REMEMBERED: usize = 48;

/// Stands for what is not computed yet: a NaN that no operation makes of other numbers.
const PENDING: f64 = f64::from_bits(0x7ff8_5045_4e44_494e);

/// See the [module](self).
pub(crate) struct Compiled {
    categories: Categories,
    /// All that is computed, each behind those that it uses.
    features: Vec<Feature>,
    precondition: Option<Code<Option<bool>>>,
    /// Node for node as in the model.
    trees: Vec<Box<[Node]>>,
}

/// A split, or a leaf. One kind for logged and for computed numbers: with two, jumps that are
/// mispredicted made a decision of `mixed_mm` a third slower.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The threshold, or the category's id.
    than: f64,
    place: u32,
    left: u32,
    right: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Numerical,
    Categorical,
    Leaf,
}

/// What is computed at most once in a decision.
struct Feature {
    slot: usize,
    code: Code<f64>,
    /// The ids of the categories that training saw, sorted.
    known: Box<[u32]>,
}

/// One decision: the values, and what was computed from them so far.
pub(crate) struct Decision<'a> {
    compiled: &'a Compiled,
    values: &'a [Scalar<'a>],
    remembered: [f64; REMEMBERED],
}

impl Compiled {
    /// `model` must be valid.
    pub(crate) fn new(model: &Model) -> Self {
        let mut compiler = Compiler {
            model,
            categories: Categories::of(model),
            features: Vec::new(),
            places: FxHashMap::default(),
        };
        let precondition = model.precondition.as_ref().map(|p| code::truth(p.typed.expr(), &mut compiler));
        // In the order of the slots, each finds those that it uses already there: chains do not recurse.
        for slot in needed(model) {
            compiler.place(slot);
        }
        let trees = model.trees.iter().map(|tree| tree.nodes.iter().map(|n| compiler.node(n)).collect());
        let trees = trees.collect();
        Self { categories: compiler.categories, features: compiler.features, precondition, trees }
    }

    /// Begins a decision for these values of the logged features, by slot.
    #[inline]
    pub(crate) fn decide<'a>(&'a self, values: &'a [Scalar<'a>]) -> Decision<'a> {
        Decision { compiled: self, values, remembered: [PENDING; REMEMBERED] }
    }
}

impl Decision<'_> {
    /// True where there is no precondition or it holds.
    #[inline]
    pub(crate) fn precondition_holds(&mut self) -> bool {
        self.compiled.precondition.as_ref().is_none_or(|holds| holds(self) == Some(true))
    }

    /// The position of the leaf of this tree where the values end, by the rule of [`ah_types::tree`].
    pub(crate) fn leaf(&mut self, tree: usize) -> Result<usize, Unsure> {
        let nodes = &self.compiled.trees[tree];
        let mut at = 0;
        loop {
            let node = &nodes[at];
            if node.kind == Kind::Leaf {
                return Ok(at);
            }
            let place = node.place as usize;
            let x = self.computed(place);
            if x.is_nan() {
                return Err(Unsure::Undefined(self.compiled.features[place].slot));
            }
            let goes_left = match node.kind {
                Kind::Numerical => goes_left(x, node.than),
                _ if x == node.than => false,
                _ if self.knows(place, x) => true,
                _ => return Err(Unsure::UnknownCategory(self.compiled.features[place].slot)),
            };
            at = if goes_left { node.left } else { node.right } as usize;
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Not negative, and made from a u32.
    fn knows(&self, place: usize, category: f64) -> bool {
        category >= 0.0 && self.compiled.features[place].known.binary_search(&(category as u32)).is_ok()
    }

    /// The logged number in this slot; NaN where it is undefined.
    #[inline(always)]
    fn logged(&self, slot: usize) -> f64 {
        match self.values.get(slot) {
            Some(Scalar::Number(x)) => *x,
            _ => f64::NAN,
        }
    }

    /// The category in this slot; NaN where it is undefined.
    fn category(&self, slot: usize) -> f64 {
        match self.values.get(slot) {
            Some(Scalar::Bool(holds)) => f64::from(*holds),
            Some(Scalar::Category(name)) => self.compiled.categories.id(name),
            Some(Scalar::Number(_)) | None => f64::NAN,
        }
    }

    /// This feature's value, computed where it is not remembered.
    #[inline(always)]
    fn computed(&mut self, feature: usize) -> f64 {
        match self.remembered.get(feature) {
            Some(x) if x.to_bits() != PENDING.to_bits() => *x,
            _ => self.compute(feature),
        }
    }

    #[inline(never)]
    fn compute(&mut self, feature: usize) -> f64 {
        let x = (self.compiled.features[feature].code)(self);
        if let Some(place) = self.remembered.get_mut(feature) {
            *place = x;
        }
        x
    }
}

/// The slots of all features that a tree tests, and of what these compute with that is no logged number.
fn needed(model: &Model) -> BTreeSet<usize> {
    let (logged, all) = (model.features.base().len(), model.features.all().features());
    let nodes = model.trees.iter().flat_map(|tree| &tree.nodes);
    let mut needed: BTreeSet<usize> = nodes
        .filter_map(|node| match node {
            ModelNode::Split { test, .. } => Some(test.slot()),
            ModelNode::Leaf(_) => None,
        })
        .collect();
    // Whatever a derived feature uses has a lower slot.
    for (i, (_, typed)) in model.features.derived().iter().enumerate().rev() {
        if needed.contains(&(logged + i)) {
            typed.expr().for_each_feature(&mut |&slot| {
                if slot >= logged || all[slot].kind == FeatureKind::Categorical {
                    needed.insert(slot);
                }
            });
        }
    }
    needed
}

/// What is compiled so far.
struct Compiler<'a> {
    model: &'a Model,
    categories: Categories,
    features: Vec<Feature>,
    /// The place of each slot among them.
    places: FxHashMap<usize, usize>,
}

impl Compiler<'_> {
    fn node(&mut self, node: &ModelNode) -> Node {
        let (test, left, right) = match node {
            ModelNode::Leaf(_) => return Node { than: 0.0, place: 0, left: 0, right: 0, kind: Kind::Leaf },
            ModelNode::Split { test, left, right } => (test, *left, *right),
        };
        let (kind, than) = match test {
            Test::Numerical { threshold, .. } => (Kind::Numerical, *threshold),
            Test::Categorical { category, .. } => (Kind::Categorical, self.categories.id(category)),
        };
        #[allow(clippy::cast_possible_truncation)] // A place is a slot's, and each slot is text in a file.
        let place = self.place(test.slot()) as u32;
        Node { than, place, left, right, kind }
    }

    /// The place of a feature among those that are computed.
    fn place(&mut self, slot: usize) -> usize {
        if let Some(&place) = self.places.get(&slot) {
            return place;
        }
        let model = self.model;
        let code: Code<f64> = match slot.checked_sub(model.features.base().len()) {
            None if self.is_number(slot) => Operand::Logged(slot).code(),
            None => Box::new(move |decision| decision.category(slot)),
            Some(derived) => code::operand(model.features.derived()[derived].1.expr(), self).code(),
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let mut known: Box<[u32]> =
            model.categories[slot].iter().map(|c| self.categories.id(c) as u32).collect();
        known.sort_unstable();
        let place = self.features.len();
        self.features.push(Feature { slot, code, known });
        self.places.insert(slot, place);
        place
    }
}

impl Scope for Compiler<'_> {
    fn feature(&mut self, slot: usize) -> Operand {
        if slot < self.model.features.base().len() && self.is_number(slot) {
            return Operand::Logged(slot);
        }
        Operand::Computed(self.place(slot))
    }

    fn is_number(&self, slot: usize) -> bool {
        self.model.features.all().features()[slot].kind == FeatureKind::Numerical
    }

    fn id(&self, category: &str) -> f64 {
        self.categories.id(category)
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("features", &self.features.len()).finish_non_exhaustive()
    }
}
