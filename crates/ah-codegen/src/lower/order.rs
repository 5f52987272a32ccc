//! The order in which a tree is printed: rows of a table, or branches with the features that each needs.

use ah_types::expr::Type;
use ah_types::{Model, Node, Test, Tree};

use super::{Argument, Condition, Event, Row, parameters};

/// What is known of a feature on the way down.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Unknown,
    Computed,
    Checked,
}

/// Brings the nodes of one tree into the order in which they are printed.
pub(super) struct Order<'m> {
    model: &'m Model,
    nodes: &'m [Node],
    /// By node: the index of its leaf among the leaves of all trees.
    leaf_index: Vec<usize>,
    states: Vec<State>,
}

impl<'m> Order<'m> {
    /// The leaves of this tree stand behind `first_leaf` others.
    pub(super) fn new(model: &'m Model, tree: &'m Tree, first_leaf: usize) -> Self {
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

    /// Appends the rows of this tree.
    pub(super) fn table(&self, rows: &mut Vec<Row<'m>>) {
        // The node, and the row whose right side it is.
        let mut stack = vec![(0, None)];
        while let Some((node, right_of)) = stack.pop() {
            let at = rows.len();
            if let Some(parent) = right_of
                && let Row::Split(_, right) = &mut rows[parent]
            {
                *right = at;
            }
            match &self.nodes[node] {
                Node::Leaf(_) => rows.push(Row::Leaf(self.leaf_index[node])),
                Node::Split { test, left, right } => {
                    rows.push(Row::Split(test, 0));
                    stack.push((*right as usize, Some(at)));
                    stack.push((*left as usize, None));
                }
            }
        }
    }

    pub(super) fn branches(&mut self) -> Vec<(usize, Event<'m>)> {
        let mut events = Vec::new();
        self.node(0, 0, false, &mut events);
        events
    }

    /// `chained`: this node stands in an `else` that may become an `else if`. Returns whether it did.
    fn node(&mut self, at: usize, level: usize, chained: bool, events: &mut Vec<(usize, Event<'m>)>) -> bool {
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
