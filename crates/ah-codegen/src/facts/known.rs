//! What holds at one place of the code.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use ah_model::Model;
use ah_model::expr::Expr;

use super::range::Range;

/// Categories that a feature may have; `None` is any other one.
pub type Categories = BTreeSet<Option<String>>;

/// What holds at one place of the code.
#[derive(Clone, Debug)]
pub struct Facts<'m> {
    pub model: &'m Model,
    /// Logged truth values are of the language's own type, so they have no third value.
    pub(super) has_truths: bool,
    pub(super) known: HashMap<Expr, Range>,
    pub(super) categories: HashMap<usize, Categories>,
    /// Inside of an expression: what holds where the expression stands.
    outside: Option<Rc<Self>>,
}

impl<'m> Facts<'m> {
    /// The facts at the beginning: nothing but the types.
    pub fn new(model: &'m Model, has_truths: bool) -> Self {
        Self { model, has_truths, known: HashMap::new(), categories: HashMap::new(), outside: None }
    }

    /// The expression of a derived feature, and `None` for a logged one.
    pub fn derived(&self, slot: usize) -> Option<&'m Expr> {
        let at = slot.checked_sub(self.model.features.base().len())?;
        Some(&self.model.features.derived()[at].1)
    }

    /// The facts where the expression stands, so wherever one of its variables is read.
    pub fn outside(&self) -> &Self {
        self.outside.as_deref().unwrap_or(self)
    }

    /// The facts at an operand that an expression reads only if a condition has this value.
    pub fn with(&self, condition: &Expr, value: bool) -> Self {
        let mut facts = self.clone();
        facts.outside.get_or_insert_with(|| Rc::new(self.clone()));
        facts.learn(condition, value);
        facts
    }

    /// Whether a condition cannot hold: with it one would hold that is known not to.
    pub fn rules_out(&self, condition: &Expr) -> bool {
        let then = self.with(condition, true);
        let holds = |other: &Expr| then.computed(other).decided() == Some(true);
        self.known.iter().any(|(other, was)| !was.has(1.0) && holds(other))
    }
}
