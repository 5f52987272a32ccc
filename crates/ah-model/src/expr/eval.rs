//! Evaluates expressions. This defines their meaning; generated code must agree with it to the last bit.
//!
//! A result of each type has its own function, and numbers are plain f64 with NaN for *undefined*. A function that
//! returned any scalar made a decision from a model file take three times as long.

use super::tree::{Binary, Expr, Unary};
use crate::context::bool_name;
use crate::row::Row;

impl Expr {
    /// The number for one row; NaN if it is undefined or no number.
    ///
    /// Most operands are features and constants. Reading them here, without a call, halves the time.
    #[inline(always)]
    pub fn number(&self, row: &(impl Row + ?Sized)) -> f64 {
        match self {
            Self::Number(x) => *x,
            Self::Feature(slot) => row.number(slot.index),
            Self::Binary(op, a, b) => binary(*op, a, b, row),
            Self::Unary(op, a) => unary(*op, a, row),
            Self::If(c, a, b) => choose(c, a, b, row),
            Self::Bool(_) | Self::Text(_) => f64::NAN,
        }
    }

    /// The truth value for one row; `None` if it is undefined or no truth value.
    pub fn truth(&self, row: &(impl Row + ?Sized)) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Unary(Unary::Not, a) => Some(!a.truth(row)?),
            Self::Binary(Binary::And, a, b) => Some(a.truth(row)? && b.truth(row)?),
            Self::Binary(Binary::Or, a, b) => Some(a.truth(row)? || b.truth(row)?),
            Self::Binary(Binary::Compare(op), a, b) => op.holds(a.number(row), b.number(row)),
            Self::Binary(Binary::Same, a, b) => Some(a.category(row)? == b.category(row)?),
            Self::Binary(Binary::Differ, a, b) => Some(a.category(row)? != b.category(row)?),
            Self::If(c, a, b) => if c.truth(row)? { a } else { b }.truth(row),
            Self::Number(_) | Self::Text(_) | Self::Feature(_) | Self::Unary(..) | Self::Binary(..) => None,
        }
    }

    /// The category for one row, `True` or `False` for a truth value; `None` if it is undefined or a number.
    pub fn category<'a>(&'a self, row: &'a (impl Row + ?Sized)) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Feature(slot) => row.category(slot.index),
            Self::If(c, a, b) => if c.truth(row)? { a } else { b }.category(row),
            other => other.truth(row).map(bool_name),
        }
    }
}

fn binary(op: Binary, a: &Expr, b: &Expr, row: &(impl Row + ?Sized)) -> f64 {
    op.apply(a.number(row), b.number(row))
}

/// Kept out of line so that `binary` need not save registers for it.
#[inline(never)]
fn unary(op: Unary, a: &Expr, row: &(impl Row + ?Sized)) -> f64 {
    op.apply(a.number(row))
}

/// Kept out of line like [`unary`].
#[inline(never)]
fn choose(c: &Expr, a: &Expr, b: &Expr, row: &(impl Row + ?Sized)) -> f64 {
    match c.truth(row) {
        Some(true) => a.number(row),
        Some(false) => b.number(row),
        None => f64::NAN,
    }
}
