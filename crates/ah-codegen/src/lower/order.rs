//! The order of printing a tree as branches, with the features that each needs.

use ah_types::expr::Type;
use ah_types::{Model, Node, Test, Tree};

use super::features::{derived_type, inputs};

/// One line of the branches.
pub enum Event<'m> {
    /// A derived feature that others need is computed; it may be undefined.
    Compute(usize, Vec<Argument>),
    /// The tree needs this feature for the first time on this path. Without arguments it is a logged
    /// feature, or a derived one that was computed before.
    Need(usize, Option<Vec<Argument>>),
    /// `if …`, or `else if …` if the flag is set.
    If(Condition<'m>, bool),
    /// `else`
    Else,
    /// The end of an `if`.
    End,
    /// The leaf with this index.
    Leaf(usize),
}

/// A derived feature that another one takes as an argument.
pub struct Argument {
    pub slot: usize,
    /// True if the tree has needed it before, so that it has a value.
    pub checked: bool,
}

/// The condition of a branch.
#[derive(Clone, Copy)]
pub enum Condition<'m> {
    /// value <= threshold
    AtMost(usize, f64),
    /// value == category
    Is(usize, &'m str),
    /// A derived truth value.
    Holds(usize),
}

/// Returns each tree as nested branches for people to read: events with their level of nesting.
pub(super) fn branches(model: &Model) -> Vec<Vec<(usize, Event<'_>)>> {
    let mut first_leaf = 0;
    let branches = |tree| {
        let order = Order::new(model, tree, first_leaf);
        first_leaf += tree.leaves().count();
        order.branches()
    };
    model.trees.iter().map(branches).collect()
}

/// The state of a feature on a path.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Unknown,
    Computed,
    Checked,
}

/// Puts the nodes of one tree into the order of printing.
struct Order<'m> {
    model: &'m Model,
    nodes: &'m [Node],
    /// By node: the index of its leaf among the leaves of all trees.
    leaf_index: Vec<usize>,
    /// By slot.
    states: Vec<State>,
}

impl<'m> Order<'m> {
    /// Orders a tree; `first_leaf` leaves of other trees come before its own.
    fn new(model: &'m Model, tree: &'m Tree, first_leaf: usize) -> Self {
        let mut next = first_leaf;
        let index = |node: &Node| {
            let leaf = matches!(node, Node::Leaf(_));
            next += usize::from(leaf);
            next - usize::from(leaf)
        };
        let leaf_index = tree.nodes.iter().map(index).collect();
        let states = vec![State::Unknown; model.features.all().len()];
        Self { model, nodes: &tree.nodes, leaf_index, states }
    }

    fn branches(mut self) -> Vec<(usize, Event<'m>)> {
        let mut events = Vec::new();
        self.append_node(0, 0, false, &mut events);
        events
    }

    /// Appends a node and its children. A `chained` node is the only one in an `else`, which may become an
    /// `else if`. Returns whether it did.
    fn append_node(
        &mut self,
        at: usize,
        level: usize,
        chained: bool,
        events: &mut Vec<(usize, Event<'m>)>,
    ) -> bool {
        let (test, left, right) = match &self.nodes[at] {
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
        self.append_need(slot, level, events);
        match condition {
            // This category cannot occur: only the check that the feature is defined remains.
            None => {
                self.append_node(left, level, false, events);
            }
            Some(condition) => {
                let (first, second) = if swapped { (right, left) } else { (left, right) };
                events.push((level, Event::If(condition, joins)));
                self.append_node(first, level + 1, false, events);
                if !self.append_node(second, level + 1, true, events) {
                    events.push((level, Event::End));
                }
            }
        }
        self.states = before;
        joins
    }

    /// Returns the condition of a branch, and whether a true condition leads to the right child.
    fn condition(&self, test: &'m Test) -> (Option<Condition<'m>>, bool) {
        match test {
            Test::Numerical { slot, threshold } => (Some(Condition::AtMost(*slot, *threshold)), false),
            Test::Categorical { slot, category } => {
                match (derived_type(self.model, *slot), category.as_str()) {
                    (Some(Type::Bool), "True") => (Some(Condition::Holds(*slot)), true),
                    (Some(Type::Bool), "False") => (Some(Condition::Holds(*slot)), false),
                    (Some(Type::Bool), _) => (None, false),
                    (_, category) => (Some(Condition::Is(*slot, category)), true),
                }
            }
        }
    }

    fn append_need(&mut self, slot: usize, level: usize, events: &mut Vec<(usize, Event<'m>)>) {
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
        let (_, parameters) = inputs(self.model, slot);
        for &parameter in &parameters {
            if self.states[parameter] == State::Unknown {
                let arguments = self.arguments(parameter, level, events);
                events.push((level, Event::Compute(parameter, arguments)));
                self.states[parameter] = State::Computed;
            }
        }
        let checked = |slot: &usize| self.states[*slot] == State::Checked;
        parameters.iter().map(|slot| Argument { slot: *slot, checked: checked(slot) }).collect()
    }
}
