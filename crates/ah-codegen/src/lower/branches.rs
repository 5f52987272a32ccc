//! A tree as nested branches, in the order of printing, with the features that each needs.

use std::collections::HashMap;

use ah_types::{Model, Node, ScoreRow, ScoreTree, Tree};

use super::features::{Condition, condition, inputs};

/// One line of the branches.
pub enum Event<'m> {
    /// A derived feature takes this logged one, which the path did not use before.
    Use(usize),
    /// A derived feature that others need is computed; it may be undefined.
    Compute(usize, Vec<Argument>),
    /// The tree needs this feature for the first time on this path.
    Need(usize, Source),
    /// `if …`, or `else if …` if the flag is set.
    If(Condition<'m>, bool),
    /// `else`
    Else,
    /// The end of an `if`.
    End,
    /// The leaf of this number.
    Leaf(usize),
}

/// The source of a feature's value.
pub enum Source {
    /// It was used or computed before on this path.
    Known,
    /// It is a logged feature.
    Logged,
    /// It is computed from these derived features and logged ones.
    Derived(Vec<Argument>),
}

/// A derived feature that another one takes as an argument.
pub struct Argument {
    pub slot: usize,
    /// True if the tree has needed it before, so that it has a value.
    pub checked: bool,
}

/// Returns the model's own tree as nested branches for people to read: events with their level of nesting. Leaves are numbered
/// in the order of the nodes. A derived feature is computed where a path first needs it, unless `computed` says that all are. The
/// precondition uses its features before.
pub(super) fn branches(model: &Model, computed: bool) -> Vec<(usize, Event<'_>)> {
    let numbers: HashMap<usize, usize> =
        model.tree.leaves().enumerate().map(|(number, (at, _))| (at, number)).collect();
    let state = if computed { State::Known } else { State::Unknown };
    let mut order = Order::new(model, &model.tree, state, |at, _| numbers[&at]);
    if let Some(precondition) = &model.precondition {
        precondition.typed.for_each_feature(&mut |slot| order.states[slot.index] = State::Known);
    }
    order.branches()
}

/// Returns a booster as nested branches; `number` returns the number of a row. All features that it tests have a value.
pub(super) fn booster<'m>(
    model: &'m Model,
    tree: &'m ScoreTree,
    number: impl Fn(&ScoreRow) -> usize,
) -> Vec<(usize, Event<'m>)> {
    Order::new(model, tree, State::Checked, |_, row| number(row)).branches()
}

/// The state of a feature on a path.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Unknown,
    /// It was used or computed.
    Known,
    /// It has a value.
    Checked,
}

/// Puts the nodes of one tree into the order of printing.
struct Order<'m, L, N> {
    model: &'m Model,
    nodes: &'m [Node<L>],
    /// Returns the number of a leaf by its position and itself.
    number: N,
    /// By slot.
    states: Vec<State>,
}

impl<'m, L, N: Fn(usize, &L) -> usize> Order<'m, L, N> {
    fn new(model: &'m Model, tree: &'m Tree<L>, state: State, number: N) -> Self {
        let states = vec![state; model.features.all().len()];
        Self { model, nodes: &tree.nodes, number, states }
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
            Node::Leaf(leaf) => {
                if chained {
                    events.push((level - 1, Event::Else));
                }
                events.push((level, Event::Leaf((self.number)(at, leaf))));
                return false;
            }
            Node::Split { test, left, right } => (test, *left as usize, *right as usize),
        };
        let slot = test.slot();
        let before = self.states.clone();
        let (condition, swapped) = condition(self.model, test);
        let joins = chained && condition.is_some() && self.states[slot] == State::Checked;
        let level = if joins { level - 1 } else { level };
        if chained && !joins {
            events.push((level - 1, Event::Else));
        }
        self.append_need(slot, level, events);
        let (first, second) = if swapped { (right, left) } else { (left, right) };
        match condition {
            // The test has one result: only the check that the feature is defined remains.
            None => {
                self.append_node(first, level, false, events);
            }
            Some(condition) => {
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

    fn append_need(&mut self, slot: usize, level: usize, events: &mut Vec<(usize, Event<'m>)>) {
        if self.states[slot] == State::Checked {
            return;
        }
        let source = match self.states[slot] {
            State::Known | State::Checked => Source::Known,
            State::Unknown if slot < self.model.features.base().len() => Source::Logged,
            State::Unknown => Source::Derived(self.arguments(slot, level, events)),
        };
        events.push((level, Event::Need(slot, source)));
        self.states[slot] = State::Checked;
    }

    fn arguments(
        &mut self,
        slot: usize,
        level: usize,
        events: &mut Vec<(usize, Event<'m>)>,
    ) -> Vec<Argument> {
        let (logged, parameters) = inputs(self.model, slot);
        for slot in logged {
            if self.states[slot] == State::Unknown {
                events.push((level, Event::Use(slot)));
                self.states[slot] = State::Known;
            }
        }
        for &parameter in &parameters {
            if self.states[parameter] == State::Unknown {
                let arguments = self.arguments(parameter, level, events);
                events.push((level, Event::Compute(parameter, arguments)));
                self.states[parameter] = State::Known;
            }
        }
        let checked = |slot: &usize| self.states[*slot] == State::Checked;
        parameters.iter().map(|slot| Argument { slot: *slot, checked: checked(slot) }).collect()
    }
}
