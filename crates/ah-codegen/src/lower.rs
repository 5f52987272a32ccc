//! From a model to what every target prints: which features are needed where, which categories
//! code must tell apart, and the tree as branches or as a table.
//!
//! Nothing here knows a language, and nothing is decided here: the meaning stays that of
//! [`Model::leaf`], and the tests compare every target with it.

use std::collections::BTreeSet;

use ah_types::expr::{BinaryOp, Expr, Type, UnaryOp};
use ah_types::{FeatureKind, Leaf, Model, Node, Test};

/// Trees with more leaves become tables: compilers take minutes for thousands of branches.
const MOST_BRANCHED_LEAVES: usize = 256;
/// Deeper trees become tables: nobody follows more levels of branches.
const MOST_BRANCHED_DEPTH: usize = 12;

/// A model, prepared for printing.
pub struct Plan<'m> {
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
    /// The tree.
    pub tree: Form<'m>,
    /// Its leaves, in the order of the nodes.
    pub leaves: Vec<&'m Leaf>,
}

/// How a tree is printed.
pub enum Form<'m> {
    /// As nested branches, for people to follow: events with their level of nesting.
    Branches(Vec<(usize, Event<'m>)>),
    /// As a table and a loop: the nodes in preorder, so that left is the next one.
    Table(Vec<Row<'m>>),
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
pub fn lower(model: &Model) -> Plan<'_> {
    let (base, all) = (model.features.base().len(), model.features.all().len());
    let tree = &model.trees[0];
    let mut tested = vec![false; all];
    for node in &tree.nodes {
        if let Node::Split { test, .. } = node {
            tested[test.slot()] = true;
        }
    }
    let mut used = tested.clone();
    // Derived features use only those before them.
    for slot in (base..all).rev().filter(|&slot| tested[slot] || used[slot]).collect::<Vec<_>>() {
        mark(model, slot, &mut used);
    }
    if let Some(precondition) = &model.precondition {
        precondition.typed.expr().for_each_feature(&mut |&slot| used[slot] = true);
    }
    let expressions: Vec<&Expr<usize>> = (base..all)
        .map(|slot| model.features.derived()[slot - base].1.expr())
        .chain(model.precondition.as_ref().map(|p| p.typed.expr()))
        .collect();
    let mut categories = Categories::default();
    for expression in &expressions {
        categories.walk(expression);
    }
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
    let leaves: Vec<&Leaf> = tree.leaves().map(|(_, leaf)| leaf).collect();
    let table = leaves.len() > MOST_BRANCHED_LEAVES || tree.depth() > MOST_BRANCHED_DEPTH;
    let categorical_test =
        tree.nodes.iter().any(|n| matches!(n, Node::Split { test: Test::Categorical { .. }, .. }));
    let derived_category =
        (base..all).any(|slot| used[slot] && model.features.derived()[slot - base].1.ty() == Type::Category);
    let mut order = Order { model, leaf_index: leaf_indices(model), states: vec![State::Unknown; all] };
    let form = if table { Form::Table(order.table()) } else { Form::Branches(order.branches()) };
    Plan {
        model,
        variants,
        codes: (table && categorical_test) || derived_category || !categories.general.is_empty(),
        texts: texts.into_iter().collect(),
        tested,
        used,
        tree: form,
        leaves,
    }
}

impl Plan<'_> {
    /// What an expression of the model computes.
    pub fn type_of(&self, expr: &Expr<usize>) -> Type {
        match expr {
            Expr::Number(_) | Expr::Call(..) | Expr::Unary(UnaryOp::Neg, _) => Type::Number,
            Expr::Bool(_) | Expr::Unary(UnaryOp::Not, _) => Type::Bool,
            Expr::Text(_) => Type::Category,
            Expr::Feature(slot) => match self.model.features.all().features()[*slot].kind {
                FeatureKind::Numerical => Type::Number,
                FeatureKind::Categorical => Type::Category,
            },
            Expr::Binary(
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem,
                ..,
            ) => Type::Number,
            Expr::Binary(..) => Type::Bool,
            Expr::If(_, a, _) => self.type_of(a),
        }
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

fn parameters(model: &Model, slot: usize) -> Vec<usize> {
    let base = model.features.base().len();
    let mut slots = BTreeSet::new();
    model.features.derived()[slot - base].1.expr().for_each_feature(&mut |&s| {
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
        model.features.derived()[slot - base].1.expr().for_each_feature(&mut |&s| mark(model, s, used));
    }
}

/// By node: the index of its leaf among the leaves.
fn leaf_indices(model: &Model) -> Vec<usize> {
    let mut next = 0;
    let index = |node: &Node| {
        let leaf = matches!(node, Node::Leaf(_));
        next += usize::from(leaf);
        next - usize::from(leaf)
    };
    model.trees[0].nodes.iter().map(index).collect()
}

/// Which categories meet in expressions.
#[derive(Default)]
struct Categories<'m> {
    /// A feature is compared with a text, and nothing else happens to it.
    compared: Vec<(usize, &'m str)>,
    /// Features whose categories meet those of other features.
    general: BTreeSet<usize>,
    texts: BTreeSet<&'m str>,
}

impl<'m> Categories<'m> {
    fn walk(&mut self, expr: &'m Expr<usize>) {
        match expr {
            Expr::Number(_) | Expr::Bool(_) => {}
            Expr::Text(text) => {
                self.texts.insert(text);
            }
            // Numbers come here too; they have no variants.
            Expr::Feature(slot) => {
                self.general.insert(*slot);
            }
            Expr::Unary(_, a) => self.walk_number(a),
            Expr::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) => match (&**a, &**b) {
                (Expr::Feature(slot), Expr::Text(text)) | (Expr::Text(text), Expr::Feature(slot)) => {
                    self.compared.push((*slot, text));
                    self.texts.insert(text);
                }
                _ => {
                    self.walk(a);
                    self.walk(b);
                }
            },
            Expr::Binary(_, a, b) => {
                self.walk_number(a);
                self.walk_number(b);
            }
            Expr::If(c, a, b) => {
                self.walk(c);
                self.walk(a);
                self.walk(b);
            }
            Expr::Call(_, args) => args.iter().for_each(|a| self.walk_number(a)),
        }
    }

    /// An operand that is a number or a truth value.
    fn walk_number(&mut self, expr: &'m Expr<usize>) {
        if !matches!(expr, Expr::Feature(_)) {
            self.walk(expr);
        }
    }
}

/// What is known of a feature on the way down.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Unknown,
    Computed,
    Checked,
}

struct Order<'m> {
    model: &'m Model,
    leaf_index: Vec<usize>,
    states: Vec<State>,
}

impl<'m> Order<'m> {
    fn table(&self) -> Vec<Row<'m>> {
        let nodes = &self.model.trees[0].nodes;
        let mut rows = Vec::with_capacity(nodes.len());
        // The node, and the row whose right side it is.
        let mut stack = vec![(0, None)];
        while let Some((node, right_of)) = stack.pop() {
            let at = rows.len();
            if let Some(parent) = right_of
                && let Row::Split(_, right) = &mut rows[parent]
            {
                *right = at;
            }
            match &nodes[node] {
                Node::Leaf(_) => rows.push(Row::Leaf(self.leaf_index[node])),
                Node::Split { test, left, right } => {
                    rows.push(Row::Split(test, 0));
                    stack.push((*right as usize, Some(at)));
                    stack.push((*left as usize, None));
                }
            }
        }
        rows
    }

    fn branches(&mut self) -> Vec<(usize, Event<'m>)> {
        let mut events = Vec::new();
        self.node(0, 0, false, &mut events);
        events
    }

    /// `chained`: this node stands in an `else` that may become an `else if`. Returns whether it did.
    fn node(&mut self, at: usize, level: usize, chained: bool, events: &mut Vec<(usize, Event<'m>)>) -> bool {
        let (test, left, right) = match &self.model.trees[0].nodes[at] {
            Node::Leaf(_) => {
                if chained {
                    events.push((level - 1, Event::Else));
                }
                events.push((level, Event::Leaf(self.leaf_index[at])));
                return false;
            }
            Node::Split { test, left, right } => (test, *left as usize, *right as usize),
        };
        let slot = test.slot();
        let before = self.states.clone();
        let (condition, swapped) = self.condition(test);
        let joins = chained && condition.is_some() && self.states[slot] == State::Checked;
        let level = if joins { level - 1 } else { level };
        if chained && !joins {
            events.push((level - 1, Event::Else));
        }
        self.need(slot, level, events);
        match condition {
            // The category can never be: only the check remains.
            None => {
                self.node(left, level, false, events);
            }
            Some(condition) => {
                let (first, second) = if swapped { (right, left) } else { (left, right) };
                events.push((level, Event::If(condition, joins)));
                self.node(first, level + 1, false, events);
                if !self.node(second, level + 1, true, events) {
                    events.push((level, Event::End));
                }
            }
        }
        self.states = before;
        joins
    }

    /// What to ask, and whether its answer yes leads to the right.
    fn condition(&self, test: &'m Test) -> (Option<Condition<'m>>, bool) {
        let base = self.model.features.base().len();
        match test {
            Test::Numerical { slot, threshold } => (Some(Condition::AtMost(*slot, *threshold)), false),
            Test::Categorical { slot, category } => {
                let derived = slot.checked_sub(base).map(|i| self.model.features.derived()[i].1.ty());
                match (derived, category.as_str()) {
                    (Some(Type::Bool), "True") => (Some(Condition::Holds(*slot)), true),
                    (Some(Type::Bool), "False") => (Some(Condition::Holds(*slot)), false),
                    (Some(Type::Bool), _) => (None, false),
                    (_, category) => (Some(Condition::Is(*slot, category)), true),
                }
            }
        }
    }

    fn need(&mut self, slot: usize, level: usize, events: &mut Vec<(usize, Event<'m>)>) {
        if self.states[slot] == State::Checked {
            return;
        }
        let fresh = self.states[slot] == State::Unknown && slot >= self.model.features.base().len();
        let arguments = fresh.then(|| self.arguments(slot, level, events));
        events.push((level, Event::Need(slot, arguments)));
        self.states[slot] = State::Checked;
    }

    fn arguments(
        &mut self,
        slot: usize,
        level: usize,
        events: &mut Vec<(usize, Event<'m>)>,
    ) -> Vec<Argument> {
        let parameters = parameters(self.model, slot);
        for &parameter in &parameters {
            if self.states[parameter] == State::Unknown {
                let arguments = self.arguments(parameter, level, events);
                events.push((level, Event::Compute(parameter, arguments)));
                self.states[parameter] = State::Computed;
            }
        }
        let checked = |slot| self.states[slot] == State::Checked;
        parameters.into_iter().map(|slot| Argument { slot, checked: checked(slot) }).collect()
    }
}
