//! From a model to what every target prints: which features are needed where, which categories
//! code must tell apart, and each tree as branches or as a table.
//!
//! Nothing here knows a language, and nothing is decided here: the meaning stays that of
//! [`Model::decide`], and the tests compare every target with it.

mod categories;
mod order;

use std::collections::BTreeSet;

use ah_types::expr::{Arithmetic, NumberExpr, NumberFunction, Type};
use ah_types::{FeatureKind, Leaf, Model, Node, Ranked, Test, Tree};

use categories::Categories;
use order::Order;

/// Trees with more leaves become tables: compilers take minutes for thousands of branches.
const MOST_BRANCHED_LEAVES: usize = 256;
/// Deeper trees become tables: nobody follows more levels of branches.
const MOST_BRANCHED_DEPTH: usize = 12;

/// A model, prepared for printing.
pub struct LoweredModel<'m> {
    /// The model.
    pub model: &'m Model,
    /// For each logged categorical feature the categories that code tells apart, sorted; empty for numbers.
    pub variants: Vec<Vec<&'m str>>,
    /// All categories that code may tell apart, sorted. The code of one is its position plus one; 0 is any other.
    pub texts: Vec<&'m str>,
    /// True where categories are compared by their codes.
    pub codes: bool,
    /// By slot: true where the tree tests it.
    pub tested: Vec<bool>,
    /// By slot: true where the tree, the precondition or a used derived feature needs it.
    pub used: Vec<bool>,
    /// The trees.
    pub trees: Form<'m>,
    /// The leaves of all trees, tree by tree, in the order of the nodes.
    pub leaves: Vec<&'m Leaf>,
}

/// How trees are printed.
pub enum Form<'m> {
    /// Each as nested branches, for people to follow: events with their level of nesting.
    Branches(Vec<Vec<(usize, Event<'m>)>>),
    /// As one table and a loop: the nodes of each tree in preorder, so that left is the next one.
    Table {
        /// The nodes of all trees.
        rows: Vec<Row<'m>>,
        /// Where each tree begins.
        roots: Vec<usize>,
    },
}

/// One line of the branches.
pub enum Event<'m> {
    /// A derived feature that others need is computed; it may be undefined.
    Compute(usize, Vec<Argument>),
    /// The tree needs this feature for the first time on this path; without value it is unsure.
    /// No arguments: it is a logged one, or was computed before.
    Need(usize, Option<Vec<Argument>>),
    /// `if …`, or `else if …` where the flag is set.
    If(Condition<'m>, bool),
    /// `else`
    Else,
    /// The end of an `if`.
    End,
    /// The leaf with this index.
    Leaf(usize),
}

/// A derived feature that another one uses.
pub struct Argument {
    /// Its slot.
    pub slot: usize,
    /// True where the tree has needed it before, so that it surely has a value.
    pub checked: bool,
}

/// An operation on a logged whole number that code computes in integers, to the same value: by
/// `fmod` or through a float, it takes several times as long.
pub struct WholeOperation {
    /// The feature's slot.
    pub slot: usize,
    /// `low_bits`, the remainder by a power of two; `ceil_shifted` or `floor_shifted`, of the
    /// quotient by one; or `trailing_zeros`.
    pub name: &'static str,
    /// The exponent of that power.
    pub power: Option<i32>,
}

/// What a branch asks.
#[derive(Clone, Copy)]
pub enum Condition<'m> {
    /// value <= threshold
    AtMost(usize, f64),
    /// value == category
    Is(usize, &'m str),
    /// A derived truth value.
    Holds(usize),
}

/// One row of the table.
#[derive(Clone, Copy)]
pub enum Row<'m> {
    /// A test and the row for which it fails to go left.
    Split(&'m Test, usize),
    /// The leaf with this index.
    Leaf(usize),
}

/// Prepares a model.
#[must_use]
pub fn lower<'m>(model: &'m Model) -> LoweredModel<'m> {
    let (base, all) = (model.features.base().len(), model.features.all().len());
    let too_large =
        |tree: &Tree| tree.leaves().count() > MOST_BRANCHED_LEAVES || tree.depth() > MOST_BRANCHED_DEPTH;
    let table = model.trees.iter().any(too_large);
    let mut tested = vec![false; all];
    for tree in &model.trees {
        // Branches do not ask for what can never be; a table does.
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if let Node::Split { test, left, right } = &tree.nodes[at] {
                tested[test.slot()] = true;
                open.push(*left as usize);
                if table || is_possible(model, test) {
                    open.push(*right as usize);
                }
            }
        }
    }
    let mut used = tested.clone();
    // Derived features use only those before them.
    for slot in (base..all).rev().filter(|&slot| tested[slot] || used[slot]).collect::<Vec<_>>() {
        mark(model, slot, &mut used);
    }
    if let Some(precondition) = &model.precondition {
        precondition.typed.for_each_feature(&mut |slot| used[slot] = true);
    }
    let mut categories = Categories::default();
    model.features.derived().iter().for_each(|(_, typed)| categories.walk(typed));
    model.precondition.iter().for_each(|p| categories.truth(&p.typed));
    let categorical =
        |slot: usize| slot < base && model.features.base().features()[slot].kind == FeatureKind::Categorical;
    categories.general.retain(|&slot| categorical(slot));
    let mut texts: BTreeSet<&str> = model.categories.iter().flatten().map(String::as_str).collect();
    texts.extend(&categories.texts);
    texts.extend(["False", "True"]);
    let variants = (0..base)
        .map(|slot| {
            if !categorical(slot) {
                return Vec::new();
            }
            if categories.general.contains(&slot) {
                return texts.iter().copied().collect();
            }
            let mut own: BTreeSet<&str> = model.categories[slot].iter().map(String::as_str).collect();
            own.extend(categories.compared.iter().filter(|(s, _)| *s == slot).map(|(_, text)| *text));
            own.into_iter().collect()
        })
        .collect();
    let leaves = model.trees.iter().flat_map(|tree| tree.leaves().map(|(_, leaf)| leaf)).collect();
    let mut nodes = model.trees.iter().flat_map(|tree| &tree.nodes);
    let categorical_test = nodes.any(|n| matches!(n, Node::Split { test: Test::Categorical { .. }, .. }));
    let derived_category =
        (base..all).any(|slot| used[slot] && model.features.derived()[slot - base].1.ty() == Type::Category);
    let mut first_leaf = 0;
    let mut orders: Vec<Order<'_>> = Vec::with_capacity(model.trees.len());
    for tree in &model.trees {
        orders.push(Order::new(model, tree, first_leaf));
        first_leaf += tree.leaves().count();
    }
    let trees = if table {
        let mut rows = Vec::new();
        let mut root = |order: &Order<'m>| {
            let root = rows.len();
            order.table(&mut rows);
            root
        };
        let roots = orders.iter().map(&mut root).collect();
        Form::Table { rows, roots }
    } else {
        Form::Branches(orders.iter_mut().map(Order::branches).collect())
    };
    LoweredModel {
        model,
        variants,
        codes: (table && categorical_test) || derived_category || !categories.general.is_empty(),
        texts: texts.into_iter().collect(),
        tested,
        used,
        trees,
        leaves,
    }
}

impl LoweredModel<'_> {
    /// Returns the most choices that several trees can rank: those of the first tree's longest leaf.
    #[must_use]
    pub fn most_votes(&self) -> usize {
        let first = self.model.trees.first().into_iter().flat_map(Tree::leaves);
        first.map(|(_, leaf)| leaf.ranking.len()).max().unwrap_or(0)
    }

    /// True where several trees vote.
    #[must_use]
    pub fn votes(&self) -> bool {
        self.model.trees.len() > 1
    }

    /// True where the trees are printed as a table.
    #[must_use]
    pub fn is_table(&self) -> bool {
        matches!(self.trees, Form::Table { .. })
    }

    /// True where the feature in this slot is logged as a whole number.
    #[must_use]
    pub fn is_whole(&self, slot: usize) -> bool {
        self.model.features.base().features().get(slot).is_some_and(|f| f.integer)
    }

    /// What integers compute faster, where the expression is that.
    #[must_use]
    pub fn whole_operation(&self, expr: &NumberExpr) -> Option<WholeOperation> {
        let (name, operand, power) = match expr {
            NumberExpr::Binary(Arithmetic::Rem, a, b) => ("low_bits", &**a, Some(power_of_two(b)?)),
            NumberExpr::Unary(NumberFunction::Ctz, a) => ("trailing_zeros", &**a, None),
            NumberExpr::Unary(function @ (NumberFunction::Ceil | NumberFunction::Floor), quotient) => {
                let NumberExpr::Binary(Arithmetic::Div, a, b) = &**quotient else { return None };
                let name = if *function == NumberFunction::Ceil { "ceil_shifted" } else { "floor_shifted" };
                (name, &**a, Some(power_of_two(b)?))
            }
            _ => return None,
        };
        let NumberExpr::Feature(slot) = operand else { return None };
        self.is_whole(*slot).then_some(WholeOperation { slot: *slot, name, power })
    }

    /// The code of a category; 0 where code does not tell it apart.
    #[must_use]
    pub fn code(&self, category: &str) -> usize {
        self.texts.binary_search(&category).map_or(0, |i| i + 1)
    }

    /// What the feature in this slot computes, where it is derived.
    #[must_use]
    pub fn derived_type(&self, slot: usize) -> Option<Type> {
        let i = slot.checked_sub(self.model.features.base().len())?;
        Some(self.model.features.derived()[i].1.ty())
    }

    /// The derived features to compute for this one, itself last.
    #[must_use]
    pub fn needs(&self, slot: usize) -> Vec<usize> {
        let mut slots = BTreeSet::from([slot]);
        let mut open = vec![slot];
        while let Some(next) = open.pop() {
            open.extend(self.parameters(next).into_iter().filter(|&s| slots.insert(s)));
        }
        slots.into_iter().collect()
    }

    /// The derived features that a derived feature uses itself, in order of their slots.
    #[must_use]
    pub fn parameters(&self, slot: usize) -> Vec<usize> {
        parameters(self.model, slot)
    }
}

/// Returns what the leaf of one of several trees says of each choice, in the order of the choices.
pub fn votes(leaf: &Leaf) -> impl Iterator<Item = &Ranked> {
    let mut votes: Vec<&Ranked> = leaf.ranking.iter().collect();
    votes.sort_by_key(|ranked| ranked.choice);
    votes.into_iter()
}

/// False where a derived truth value is asked for another category than `True` and `False`.
fn is_possible(model: &Model, test: &Test) -> bool {
    let Test::Categorical { slot, category } = test else { return true };
    let derived = slot.checked_sub(model.features.base().len()).map(|i| model.features.derived()[i].1.ty());
    derived != Some(Type::Bool) || matches!(category.as_str(), "False" | "True")
}

fn parameters(model: &Model, slot: usize) -> Vec<usize> {
    let base = model.features.base().len();
    let mut slots = BTreeSet::new();
    model.features.derived()[slot - base].1.for_each_feature(&mut |s| {
        if s >= base {
            slots.insert(s);
        }
    });
    slots.into_iter().collect()
}

fn mark(model: &Model, slot: usize, used: &mut Vec<bool>) {
    let base = model.features.base().len();
    used[slot] = true;
    if slot >= base {
        model.features.derived()[slot - base].1.for_each_feature(&mut |s| mark(model, s, used));
    }
}

/// The exponent of a literal power of two up to 2^52, by which whole numbers divide exactly.
fn power_of_two(expr: &NumberExpr) -> Option<i32> {
    let NumberExpr::Literal(x) = expr else { return None };
    (0..=52).find(|&power| 2.0_f64.powi(power).to_bits() == x.to_bits())
}
