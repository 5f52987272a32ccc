//! Compiles a model: turns its expressions into closures and its categories into numbers.

use std::collections::BTreeSet;

use ah_types::{FeatureKind, Model, Node as ModelNode, Test};
use rustc_hash::FxHashMap;

use super::categories::Categories;
use super::code::{self, Operand, Scope};
use super::decision::{Code, CompiledModel, Feature, Node, NodeKind};

impl CompiledModel {
    /// Compiles `model`, which must be valid.
    pub(crate) fn new(model: &Model) -> Self {
        let mut compiler = Compiler {
            model,
            categories: Categories::of(model),
            features: Vec::new(),
            positions: FxHashMap::default(),
        };
        let precondition = model.precondition.as_ref().map(|p| code::truth(&p.typed, &mut compiler));
        // A derived feature uses lower slots only. In the order of the slots its operands are compiled already, so
        // a long chain of features does not recurse.
        for slot in needed(model) {
            compiler.position(slot);
        }
        let trees = model.trees.iter().map(|tree| tree.nodes.iter().map(|n| compiler.node(n)).collect());
        let trees = trees.collect();
        Self { categories: compiler.categories, features: compiler.features, precondition, trees }
    }
}

/// Returns the slots of all tested features, and of their operands except logged numbers.
fn needed(model: &Model) -> BTreeSet<usize> {
    let (logged, all) = (model.features.base().len(), model.features.all().features());
    let nodes = model.trees.iter().flat_map(|tree| &tree.nodes);
    let mut needed: BTreeSet<usize> = nodes
        .filter_map(|node| match node {
            ModelNode::Split { test, .. } => Some(test.slot()),
            ModelNode::Leaf(_) => None,
        })
        .collect();
    for (i, (_, typed)) in model.features.derived().iter().enumerate().rev() {
        if needed.contains(&(logged + i)) {
            typed.for_each_feature(&mut |slot| {
                if slot >= logged || all[slot].kind == FeatureKind::Categorical {
                    needed.insert(slot);
                }
            });
        }
    }
    needed
}

/// The features compiled so far.
struct Compiler<'a> {
    model: &'a Model,
    categories: Categories,
    features: Vec<Feature>,
    /// The position of each slot's feature in `features`.
    positions: FxHashMap<usize, usize>,
}

impl Compiler<'_> {
    fn is_number(&self, slot: usize) -> bool {
        self.model.features.all().features()[slot].kind == FeatureKind::Numerical
    }

    fn node(&mut self, node: &ModelNode) -> Node {
        let (test, left, right) = match node {
            ModelNode::Leaf(_) => {
                return Node { than: 0.0, feature: 0, left: 0, right: 0, kind: NodeKind::Leaf };
            }
            ModelNode::Split { test, left, right } => (test, *left, *right),
        };
        let (kind, than) = match test {
            Test::Numerical { threshold, .. } => (NodeKind::Numerical, *threshold),
            Test::Categorical { category, .. } => (NodeKind::Categorical, self.categories.id(category)),
        };
        // Each feature is text in the model's file.
        let feature = self.position(test.slot()) as u32;
        Node { than, feature, left, right, kind }
    }

    /// Returns a feature's position; compiles it at its first use.
    fn position(&mut self, slot: usize) -> usize {
        if let Some(&position) = self.positions.get(&slot) {
            return position;
        }
        let model = self.model;
        let code: Code<f64> = match slot.checked_sub(model.features.base().len()) {
            None if self.is_number(slot) => Operand::Logged(slot).code(),
            None => Box::new(move |decision| decision.category(slot)),
            Some(derived) => code::operand(&model.features.derived()[derived].1, self).code(),
        };
        // Ids are u32 in an f64.
        let mut known: Box<[u32]> =
            model.categories[slot].iter().map(|c| self.categories.id(c) as u32).collect();
        known.sort_unstable();
        let position = self.features.len();
        self.features.push(Feature { slot, code, known });
        self.positions.insert(slot, position);
        position
    }
}

impl Scope for Compiler<'_> {
    fn feature(&mut self, slot: usize) -> Operand {
        if slot < self.model.features.base().len() && self.is_number(slot) {
            return Operand::Logged(slot);
        }
        Operand::Computed(self.position(slot))
    }

    fn id(&self, category: &str) -> f64 {
        self.categories.id(category)
    }
}
