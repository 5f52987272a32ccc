//! Compiles a model: turns its expressions into closures and its categories into numbers.

use std::collections::BTreeSet;

use ah_types::{ChoiceId, Ensemble, FeatureKind, Model, Test, Tree};
use rustc_hash::FxHashMap;

use super::categories::Categories;
use super::code::{self, Operand, Scope};
use super::decision::{Code, Column, CompiledModel, Feature, Source};

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
        let choices = (0..model.choices.len() as u32).map(ChoiceId);
        let condition = |choice| model.eligible.get(&choice).map(|c| code::truth(&c.typed, &mut compiler));
        let eligible = if model.eligible.is_empty() { Vec::new() } else { choices.map(condition).collect() };
        let ensemble = Ensemble::new(model);
        let columns = ensemble.columns.iter().map(|column| compiler.column(column)).collect();
        let Compiler { categories, features, .. } = compiler;
        Self { categories, features, precondition, eligible, ensemble, columns }
    }
}

/// Returns the slots of all tested features and of their operands, except logged numbers.
fn needed(model: &Model) -> BTreeSet<usize> {
    let (logged, all) = (model.features.base().len(), model.features.all().features());
    let is_computed = |slot: &usize| *slot >= logged || all[*slot].kind == FeatureKind::Categorical;
    let tests = model.tree.tests().chain(model.boosters.iter().flat_map(Tree::tests));
    let mut needed: BTreeSet<usize> = tests.map(Test::slot).filter(is_computed).collect();
    for (i, (_, typed)) in model.features.derived().iter().enumerate().rev() {
        if needed.contains(&(logged + i)) {
            typed.for_each_feature(&mut |slot| needed.extend(Some(slot).filter(is_computed)));
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

    fn column(&mut self, column: &ah_types::Column<Vec<String>>) -> Column {
        let slot = column.slot;
        let source = match &column.categories {
            Some(set) => {
                let ids = set.iter().map(|category| self.categories.id(category)).collect();
                Source::Categories(self.position(slot), ids)
            }
            None if slot < self.model.features.base().len() => Source::Logged(slot),
            None => Source::Computed(self.position(slot)),
        };
        Column { source, missing: self.model.missing.contains(&slot) }
    }

    /// Returns a feature's position; compiles it at its first use.
    fn position(&mut self, slot: usize) -> usize {
        if let Some(&position) = self.positions.get(&slot) {
            return position;
        }
        let model = self.model;
        let code: Code<f64> = match slot.checked_sub(model.features.base().len()) {
            None => {
                // The missing value of a category that training saw missing.
                let missing = if model.knows(slot, "") { self.categories.id("") } else { f64::NAN };
                Box::new(move |decision| decision.category(slot, missing))
            }
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
