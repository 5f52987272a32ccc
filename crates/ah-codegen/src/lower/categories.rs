//! The categories that expressions compare, and with which others: code must distinguish these.

use std::collections::BTreeSet;

use ah_types::expr::{BoolExpr, CategoryExpr, NumberExpr, TypedExpr};

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
    pub(super) fn walk(&mut self, expr: &'m TypedExpr) {
        match expr {
            TypedExpr::Number(a) => self.number(a),
            TypedExpr::Bool(a) => self.truth(a),
            TypedExpr::Category(a) => self.category(a),
        }
    }

    pub(super) fn truth(&mut self, expr: &'m BoolExpr) {
        match expr {
            BoolExpr::Literal(_) => {}
            BoolExpr::Not(a) => self.truth(a),
            BoolExpr::And(a, b) | BoolExpr::Or(a, b) => {
                self.truth(a);
                self.truth(b);
            }
            BoolExpr::Compare(_, a, b) => {
                self.number(a);
                self.number(b);
            }
            BoolExpr::Match { left, right, .. } => match (left, right) {
                (CategoryExpr::Feature(slot), CategoryExpr::Text(text))
                | (CategoryExpr::Text(text), CategoryExpr::Feature(slot)) => {
                    self.compared.push((*slot, text));
                    self.texts.insert(text);
                }
                _ => {
                    self.category(left);
                    self.category(right);
                }
            },
            BoolExpr::If(c, a, b) => {
                self.truth(c);
                self.truth(a);
                self.truth(b);
            }
        }
    }

    fn number(&mut self, expr: &'m NumberExpr) {
        match expr {
            NumberExpr::Literal(_) | NumberExpr::Feature(_) => {}
            NumberExpr::Unary(_, a) => self.number(a),
            NumberExpr::Binary(_, a, b) => {
                self.number(a);
                self.number(b);
            }
            NumberExpr::If(c, a, b) => {
                self.truth(c);
                self.number(a);
                self.number(b);
            }
        }
    }

    fn category(&mut self, expr: &'m CategoryExpr) {
        match expr {
            CategoryExpr::Text(text) => {
                self.texts.insert(text);
            }
            CategoryExpr::Feature(slot) => {
                self.general.insert(*slot);
            }
            CategoryExpr::Bool(a) => self.truth(a),
            CategoryExpr::If(c, a, b) => {
                self.truth(c);
                self.category(a);
                self.category(b);
            }
        }
    }
}
