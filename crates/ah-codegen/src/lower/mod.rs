//! Lowers a model to a form that is independent of languages: the features that it needs, the categories
//! that code must distinguish, and its trees as branches or as arrays.
//!
//! Lowering changes no decision: [`Model::decide`] defines the meaning, and the tests compare every target
//! with it.

mod branches;
mod categories;
mod ensemble;
mod features;

use std::collections::{BTreeSet, HashMap};

use ah_types::expr::{Expr, Type};
use ah_types::{Model, ScoreRow, Test, Tree};

use crate::error::{CodegenError, MOST};
pub use branches::{Argument, Event, Source};
use categories::Categories;
pub use ensemble::{EnsembleArrays, Group};
pub use features::{Condition, WholeOperation, condition};

/// A tree with more leaves becomes arrays: compilers take minutes for thousands of branches.
const MOST_BRANCHED_LEAVES: usize = 256;
/// A deeper tree becomes arrays: nobody follows more levels of branches.
const MOST_BRANCHED_DEPTH: usize = 12;

/// Returns true if the code has the form of an ensemble: there are boosters, or the tree is too large for branches.
pub fn is_ensemble(model: &Model) -> bool {
    let tree = &model.tree;
    !model.boosters.is_empty()
        || tree.leaves().count() > MOST_BRANCHED_LEAVES
        || tree.depth() > MOST_BRANCHED_DEPTH
}

/// A model, prepared for printing.
pub struct LoweredModel<'m> {
    pub model: &'m Model,
    /// For each logged categorical feature the categories that code distinguishes, sorted; empty for
    /// numbers.
    pub variants: Vec<Vec<&'m str>>,
    /// All categories that code may distinguish, sorted. The code of one is its position plus one; 0 is any
    /// other.
    pub texts: Vec<&'m str>,
    /// True if categories are compared by their codes.
    pub codes: bool,
    /// By slot: true if a tree tests the feature.
    pub tested: Vec<bool>,
    /// By slot: true if a tree, the precondition or a used derived feature needs the feature.
    pub used: Vec<bool>,
    /// The arrays of an ensemble; `None` for branches.
    pub ensemble: Option<Box<EnsembleArrays>>,
}

/// Prepares a model; `ensemble` is true for the form of an ensemble.
pub fn lower(model: &Model, ensemble: bool) -> LoweredModel<'_> {
    let tested = features::tested(model, ensemble);
    let used = features::used(model, &tested);
    let mut categories = Categories::default();
    model.features.derived().iter().for_each(|(_, typed)| categories.walk(typed));
    let conditions = model.precondition.iter().chain(model.eligible.values());
    conditions.for_each(|p| categories.walk(&p.typed));
    categories.general.retain(|&slot| features::is_logged_category(model, slot));
    let mut texts: BTreeSet<&str> = model.categories.iter().flatten().map(String::as_str).collect();
    texts.extend(&categories.texts);
    texts.extend(["False", "True"]);
    let base = model.features.base().len();
    let variants = (0..base).map(|slot| variants(model, &categories, &texts, slot)).collect();

    let mut tests = model.tree.tests().chain(model.boosters.iter().flat_map(Tree::tests));
    let tests_category = tests.any(|test| matches!(test, Test::Categorical { .. }));
    let derives_category = (base..used.len())
        .any(|slot| used[slot] && features::derived_type(model, slot) == Some(Type::Category));
    LoweredModel {
        model,
        variants,
        codes: (ensemble && tests_category) || derives_category || !categories.general.is_empty(),
        texts: texts.into_iter().collect(),
        tested,
        used,
        ensemble: ensemble.then(|| Box::new(EnsembleArrays::new(model))),
    }
}

/// Returns the categories that code distinguishes in a logged feature.
fn variants<'m>(
    model: &'m Model,
    categories: &Categories<'m>,
    texts: &BTreeSet<&'m str>,
    slot: usize,
) -> Vec<&'m str> {
    if !features::is_logged_category(model, slot) {
        return Vec::new();
    }
    if categories.general.contains(&slot) {
        return texts.iter().copied().collect();
    }
    let mut own: BTreeSet<&str> = model.categories[slot].iter().map(String::as_str).collect();
    own.extend(categories.compared.iter().filter(|(s, _)| *s == slot).map(|(_, text)| *text));
    own.into_iter().collect()
}

impl LoweredModel<'_> {
    /// Checks that generated code can number the features, the categories and the leaves.
    pub fn check_size(&self) -> Result<(), CodegenError> {
        let ensemble = self.ensemble.as_deref();
        for (what, found) in [
            ("features", self.used.len()),
            ("categories", self.texts.len()),
            ("values that trees test", ensemble.map_or(0, |ensemble| ensemble.flat.columns.len())),
            ("leaves of a tree", ensemble.map_or(0, |ensemble| ensemble.most_leaves)),
        ] {
            if found > MOST {
                return Err(CodegenError::TooMany { what, found });
            }
        }
        Ok(())
    }

    /// Returns the model's own tree as nested branches: events with their level of nesting. Beside boosters, all derived features
    /// are computed before.
    pub fn branches(&self) -> Vec<(usize, Event<'_>)> {
        branches::branches(self.model, !self.model.boosters.is_empty())
    }

    /// Returns each booster as nested branches. A leaf has the number of a row with its contents.
    pub fn boosters(&self) -> Vec<Vec<(usize, Event<'_>)>> {
        let Some(ensemble) = &self.ensemble else { return Vec::new() };
        let rows = ensemble.rows.chunks(ensemble.flat.row_length);
        let numbers: HashMap<&[i8], usize> = rows.enumerate().map(|(number, row)| (row, number)).collect();
        let number = |row: &ScoreRow| numbers[&**row];
        self.model.boosters.iter().map(|tree| branches::booster(self.model, tree, number)).collect()
    }

    /// Returns the length of the longest ranking of a leaf.
    pub fn longest_ranking(&self) -> usize {
        self.model.tree.leaves().map(|(_, leaf)| leaf.ranking.len()).max().unwrap_or(0)
    }

    /// Returns true if the feature in this slot is a logged category.
    pub fn is_logged_category(&self, slot: usize) -> bool {
        features::is_logged_category(self.model, slot)
    }

    /// Returns true if the feature in this slot is a logged whole number.
    pub fn is_whole(&self, slot: usize) -> bool {
        features::is_whole(self.model, slot)
    }

    /// Returns true if training saw the feature in this slot missing.
    pub fn is_missing(&self, slot: usize) -> bool {
        self.model.missing.contains(&slot) || self.model.knows(slot, "")
    }

    /// Returns the operation in integers for this expression, if there is one.
    pub fn whole_operation(&self, expr: &Expr) -> Option<WholeOperation> {
        features::whole_operation(self.model, expr)
    }

    /// Returns the code of a category; 0 if code does not distinguish it.
    pub fn code(&self, category: &str) -> usize {
        self.texts.binary_search(&category).map_or(0, |i| i + 1)
    }

    /// Returns the type of the derived feature in this slot; `None` for a logged one.
    pub fn derived_type(&self, slot: usize) -> Option<Type> {
        features::derived_type(self.model, slot)
    }

    /// Returns the logged features that a derived feature reads itself, and the derived ones, by slot.
    pub fn inputs(&self, slot: usize) -> (Vec<usize>, Vec<usize>) {
        features::inputs(self.model, slot)
    }

    /// Returns the derived features that this one needs, followed by itself.
    pub fn needs(&self, slot: usize) -> Vec<usize> {
        let mut slots = BTreeSet::from([slot]);
        let mut open = vec![slot];
        while let Some(next) = open.pop() {
            open.extend(self.inputs(next).1.into_iter().filter(|&s| slots.insert(s)));
        }
        slots.into_iter().collect()
    }
}
