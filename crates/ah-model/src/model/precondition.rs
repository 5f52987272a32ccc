//! Conditions of a model: its domain, where a choice can run, a class of inputs.

use crate::expr::{self, Expr};
use crate::fault::Invalid;
use crate::feature::Schema;
use crate::row::Row;

/// A condition over the logged features, as text and resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Precondition {
    /// The expression's text.
    pub expression: String,
    /// The resolved expression, over the slots of the logged features.
    pub typed: Expr,
}

impl Precondition {
    /// Reads a condition over the logged features.
    ///
    /// # Errors
    /// [`Invalid`] for an expression that is malformed or no truth value.
    pub fn new(expression: impl Into<String>, logged: &Schema) -> Result<Self, Invalid> {
        let expression = expression.into();
        Ok(Self { typed: expr::parse(&expression)?.resolve_bool(logged)?, expression })
    }

    /// Whether it holds. An undefined condition counts as false.
    pub fn holds(&self, logged: &(impl Row + ?Sized)) -> bool {
        self.typed.truth(logged) == Some(true)
    }
}
