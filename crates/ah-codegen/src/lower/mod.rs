//! Lowers a model to a form that is independent of languages: the features that it needs, the categories
//! that code must distinguish, and each tree as branches or as a table.
//!
//! Lowering changes no decision: [`Model::decide`] defines the meaning, and the tests compare every target
//! with it.

mod boosted;
mod categories;
mod columns;
mod features;
mod leaves;
mod order;
mod table;
mod whole;

use std::collections::BTreeSet;

use ah_types::expr::{NumberExpr, Type};
use ah_types::{Model, Node, Test, Tree};

use crate::error::{CodegenError, MOST};
pub use boosted::BoostedTable;
use categories::Categories;
pub use leaves::{LoweredLeaf, LoweredPlace, Reason};
pub use order::{Argument, Condition, Event};
pub use table::Table;
pub use whole::WholeOperation;

/// Trees with more leaves become tables: compilers take minutes for thousands of branches.
const MOST_BRANCHED_LEAVES: usize = 256;
/// Deeper trees become tables: nobody follows more levels of branches.
const MOST_BRANCHED_DEPTH: usize = 12;

/// Returns true if a tree of the model is too large for branches, or if there are boosted ones. All trees then become one
/// table.
pub fn is_large(model: &Model) -> bool {
    let is_large =
        |tree: &Tree| tree.leaves().count() > MOST_BRANCHED_LEAVES || tree.depth() > MOST_BRANCHED_DEPTH;
    model.boosted.is_some() || model.trees.iter().any(is_large)
}

/// The form in which trees are printed.
pub enum Form<'m> {
    /// Each tree as nested branches: events with their level of nesting.
    Branches(Vec<Vec<(usize, Event<'m>)>>),
    /// All trees as one table.
    Table(Box<Table<'m>>),
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
    pub trees: Form<'m>,
    /// The leaves of all trees, tree by tree in the order of the nodes, followed by those for inputs
    /// outside.
    pub leaves: Vec<LoweredLeaf<'m>>,
}

/// Prepares a model; `table` is true if its trees become a table.
pub fn lower(model: &Model, table: bool) -> LoweredModel<'_> {
    let tested = features::tested(model, table);
    let leaves = leaves::leaves(model);
    let mut used = features::used(model, &tested);
    // A leaf for inputs outside another leaf's ranges needs the values of these features.
    for leaf in leaves.iter().filter(|leaf| leaf.outside.is_some()) {
        leaf.leaf.ranges.iter().zip(&mut used).for_each(|(range, used)| *used |= range.is_some());
    }

    let mut categories = Categories::default();
    model.features.derived().iter().for_each(|(_, typed)| categories.walk(typed));
    let conditions = model.precondition.iter().chain(model.eligible.values());
    conditions.for_each(|p| categories.truth(&p.typed));
    categories.general.retain(|&slot| features::is_logged_category(model, slot));
    let mut texts: BTreeSet<&str> = model.categories.iter().flatten().map(String::as_str).collect();
    texts.extend(&categories.texts);
    texts.extend(["False", "True"]);
    let base = model.features.base().len();
    let variants = (0..base).map(|slot| variants(model, &categories, &texts, slot)).collect();

    let mut nodes = model.trees.iter().flat_map(|tree| &tree.nodes);
    let boosts_category =
        model.boosted.iter().flat_map(|b| &b.columns).any(|column| column.category.is_some());
    let tests_category =
        boosts_category || nodes.any(|n| matches!(n, Node::Split { test: Test::Categorical { .. }, .. }));
    let derives_category = (base..used.len())
        .any(|slot| used[slot] && features::derived_type(model, slot) == Some(Type::Category));
    LoweredModel {
        model,
        variants,
        codes: (table && tests_category) || derives_category || !categories.general.is_empty(),
        texts: texts.into_iter().collect(),
        tested,
        used,
        trees: if table {
            Form::Table(Box::new(Table::new(model, &leaves)))
        } else {
            Form::Branches(order::branches(model))
        },
        leaves,
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
    /// Checks that generated code can number the features and categories.
    pub fn check_size(&self) -> Result<(), CodegenError> {
        for (what, found) in [("features", self.used.len()), ("categories", self.texts.len())] {
            if found > MOST {
                return Err(CodegenError::TooMany { what, found });
            }
        }
        Ok(())
    }

    /// Returns true if several trees vote.
    pub fn votes(&self) -> bool {
        table::votes(self.model)
    }

    /// Returns the most choices that all trees can rank: those of the first tree's longest leaf.
    pub fn longest_ranking(&self) -> usize {
        let first = self.model.trees.first().into_iter().flat_map(Tree::leaves);
        first.map(|(_, leaf)| leaf.ranking.len()).max().unwrap_or(0)
    }

    /// Returns true if the feature in this slot is a logged category.
    pub fn is_logged_category(&self, slot: usize) -> bool {
        features::is_logged_category(self.model, slot)
    }

    /// Returns true if the feature in this slot is a logged whole number.
    pub fn is_whole(&self, slot: usize) -> bool {
        features::is_whole(self.model, slot)
    }

    /// Returns the operation in integers for this expression, if there is one.
    pub fn whole_operation(&self, expr: &NumberExpr) -> Option<WholeOperation> {
        whole::whole_operation(self.model, expr)
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
