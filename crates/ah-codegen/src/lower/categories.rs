//! The categories that expressions compare, and with which others: code must distinguish these.

use std::collections::BTreeSet;

use ah_types::expr::{Binary, Expr, Type};

/// The categories that occur in expressions.
#[derive(Default)]
pub(super) struct Categories<'m> {
    /// A feature is compared with texts and used nowhere else.
    pub(super) compared: Vec<(usize, &'m str)>,
    /// Features whose categories are compared with those of other features.
    pub(super) general: BTreeSet<usize>,
    pub(super) texts: BTreeSet<&'m str>,
}

impl<'m> Categories<'m> {
    pub(super) fn walk(&mut self, expr: &'m Expr) {
        match expr {
            Expr::Binary(Binary::Same | Binary::Differ, a, b) => match (&**a, &**b) {
                (Expr::Feature(slot), Expr::Text(text)) | (Expr::Text(text), Expr::Feature(slot)) => {
                    self.compared.push((slot.index, text));
                    self.texts.insert(text);
                }
                (a, b) => [a, b].into_iter().for_each(|operand| self.walk(operand)),
            },
            Expr::Text(text) => _ = self.texts.insert(text),
            Expr::Feature(slot) if expr.ty() == Type::Category => _ = self.general.insert(slot.index),
            Expr::Number(_) | Expr::Bool(_) | Expr::Feature(_) => {}
            Expr::Unary(_, a) => self.walk(a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|operand| self.walk(operand)),
            Expr::If(c, a, b) => [c, a, b].into_iter().for_each(|operand| self.walk(operand)),
        }
    }
}
