//! Evaluates expressions. This defines their meaning; generated code must agree with it to the last bit.
//!
//! Each type has its own evaluator, and numbers are plain f64 with NaN for *undefined*. One evaluator that
//! returned any scalar made a decision from a model file take three times as long.

use super::typed::{Arithmetic, BoolExpr, CategoryExpr, NumberExpr, NumberFunction, TypedExpr};
use crate::context::{Scalar, bool_name};
use crate::row::Row;

impl TypedExpr {
    /// Returns the value for one row, or `None` if it is undefined. Never panics.
    pub fn eval<'a>(&'a self, row: &'a (impl Row + ?Sized)) -> Option<Scalar<'a>> {
        match self {
            Self::Number(a) => Some(a.eval(row)).filter(|x| !x.is_nan()).map(Scalar::Number),
            Self::Bool(a) => a.eval(row).map(Scalar::Bool),
            Self::Category(a) => a.eval(row).map(Scalar::Category),
        }
    }

    /// Returns the number for one row; NaN if it is undefined or no number.
    pub fn eval_number(&self, row: &(impl Row + ?Sized)) -> f64 {
        match self {
            Self::Number(a) => a.eval(row),
            Self::Bool(_) | Self::Category(_) => f64::NAN,
        }
    }

    /// Returns the category for one row, `True` or `False` for a truth value; `None` if it is undefined or
    /// a number.
    pub fn eval_category<'a>(&'a self, row: &'a (impl Row + ?Sized)) -> Option<&'a str> {
        match self {
            Self::Number(_) => None,
            Self::Bool(a) => a.eval(row).map(bool_name),
            Self::Category(a) => a.eval(row),
        }
    }
}

impl NumberExpr {
    /// Returns the number for one row; NaN if it is undefined.
    ///
    /// Most operands are features and constants. Reading them here, without a call, halves the time.
    #[inline(always)]
    pub fn eval(&self, row: &(impl Row + ?Sized)) -> f64 {
        match self {
            Self::Literal(x) => *x,
            Self::Feature(slot) => row.number(*slot),
            Self::Binary(op, a, b) => binary(*op, a, b, row),
            Self::Unary(op, a) => unary(*op, a, row),
            Self::If(c, a, b) => choose(c, a, b, row),
        }
    }
}

fn binary(op: Arithmetic, a: &NumberExpr, b: &NumberExpr, row: &(impl Row + ?Sized)) -> f64 {
    op.apply(a.eval(row), b.eval(row))
}

/// Kept out of line so that `binary` need not save registers for it.
#[inline(never)]
fn unary(op: NumberFunction, a: &NumberExpr, row: &(impl Row + ?Sized)) -> f64 {
    op.apply(a.eval(row))
}

/// Kept out of line like [`unary`].
#[inline(never)]
fn choose(c: &BoolExpr, a: &NumberExpr, b: &NumberExpr, row: &(impl Row + ?Sized)) -> f64 {
    match c.eval(row) {
        Some(true) => a.eval(row),
        Some(false) => b.eval(row),
        None => f64::NAN,
    }
}

impl BoolExpr {
    /// Returns the truth value for one row; `None` if it is undefined.
    pub fn eval(&self, row: &(impl Row + ?Sized)) -> Option<bool> {
        match self {
            Self::Literal(b) => Some(*b),
            Self::Not(a) => Some(!a.eval(row)?),
            Self::And(a, b) => Some(a.eval(row)? && b.eval(row)?),
            Self::Or(a, b) => Some(a.eval(row)? || b.eval(row)?),
            Self::Compare(op, a, b) => op.holds(a.eval(row), b.eval(row)),
            Self::Match { equal, left, right } => Some(same(left, right, row)? == *equal),
            Self::If(c, a, b) => if c.eval(row)? { a } else { b }.eval(row),
        }
    }
}

impl CategoryExpr {
    /// Returns the category for one row; `None` if it is undefined.
    pub fn eval<'a>(&'a self, row: &'a (impl Row + ?Sized)) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Feature(slot) => row.category(*slot),
            Self::Bool(a) => a.eval(row).map(bool_name),
            Self::If(c, a, b) => if c.eval(row)? { a } else { b }.eval(row),
        }
    }
}

fn same(a: &CategoryExpr, b: &CategoryExpr, row: &(impl Row + ?Sized)) -> Option<bool> {
    let known = |e: &CategoryExpr| matches!(e, CategoryExpr::Text(_) | CategoryExpr::Bool(_));
    let is_named = known(a) || known(b);
    let (a, b) = (a.eval(row)?, b.eval(row)?);
    // The expression itself names this category, so no further check is needed.
    (is_named || row.tells_apart(a) || row.tells_apart(b)).then_some(a == b)
}
