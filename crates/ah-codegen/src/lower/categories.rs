//! Which categories expressions compare, and with what: code must tell these apart.

use std::collections::BTreeSet;

use ah_types::expr::{BinaryOp, Expr};

/// Which categories meet in expressions.
#[derive(Default)]
pub(super) struct Categories<'m> {
    /// A feature is compared with a text, and nothing else happens to it.
    pub(super) compared: Vec<(usize, &'m str)>,
    /// Features whose categories meet those of other features.
    pub(super) general: BTreeSet<usize>,
    pub(super) texts: BTreeSet<&'m str>,
}

impl<'m> Categories<'m> {
    pub(super) fn walk(&mut self, expr: &'m Expr<usize>) {
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
