//! Evaluation. This is the meaning of an expression; generated code must agree with it to the last bit.
//!
//! Types are known before, so each type has an evaluator of its own: numbers are plain f64 with NaN
//! for *undefined*. With one evaluator that returns any scalar, a decision from a model file took
//! three times as long.

use super::math::{ctz, log2, modulo};
use super::{BinaryOp, Expr, Function, Type, Typed, UnaryOp};
use crate::context::{Scalar, Value, bool_name};

/// Anything that has a value in each slot of a schema.
pub trait Row {
    /// The value in this slot, or `None` where it is undefined.
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>>;

    /// The number in this slot; NaN where it is undefined or no number.
    fn number(&self, slot: usize) -> f64 {
        self.scalar(slot).and_then(Scalar::number).unwrap_or(f64::NAN)
    }

    /// The category in this slot; `None` where it is undefined or a number.
    fn category(&self, slot: usize) -> Option<&str> {
        self.scalar(slot).and_then(Scalar::category)
    }

    /// Whether this category is told apart from every other. Not all are when a model decides:
    /// generated code has one value for all categories that the model does not name, so it cannot say
    /// whether two of them are equal. Then nobody says: the comparison is undefined.
    fn tells_apart(&self, category: &str) -> bool {
        let _ = category;
        true
    }
}

impl Row for [Value] {
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        self.get(slot).map(Value::as_scalar)
    }
}

impl Row for [Scalar<'_>] {
    #[inline]
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        self.get(slot).copied()
    }

    #[inline]
    fn number(&self, slot: usize) -> f64 {
        match self.get(slot) {
            Some(Scalar::Number(x)) => *x,
            _ => f64::NAN,
        }
    }
}

impl Row for Vec<Value> {
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        self.as_slice().scalar(slot)
    }
}

impl Row for Box<[Value]> {
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        (**self).scalar(slot)
    }
}

impl Typed {
    /// The value for one row, or `None` where it is undefined. Never panics.
    #[must_use]
    pub fn eval<'a>(&'a self, row: &'a (impl Row + ?Sized)) -> Option<Scalar<'a>> {
        match self.ty() {
            Type::Number => defined(number(self.expr(), row)).map(Scalar::Number),
            Type::Bool => truth(self.expr(), row).map(Scalar::Bool),
            Type::Category => text(self.expr(), row).map(Scalar::Category),
        }
    }

    /// The number for one row; NaN where it is undefined or no number.
    #[must_use]
    pub fn eval_number(&self, row: &(impl Row + ?Sized)) -> f64 {
        number(self.expr(), row)
    }

    /// The truth value for one row; undefined counts as `None`.
    #[must_use]
    pub fn eval_bool(&self, row: &(impl Row + ?Sized)) -> Option<bool> {
        truth(self.expr(), row)
    }

    /// The category for one row; a truth value is `True` or `False`.
    #[must_use]
    pub fn eval_category<'a>(&'a self, row: &'a (impl Row + ?Sized)) -> Option<&'a str> {
        if self.ty() == Type::Number { None } else { text(self.expr(), row) }
    }
}

fn defined(x: f64) -> Option<f64> {
    (!x.is_nan()).then_some(x)
}

/// NaN where it is undefined or no number.
///
/// Most operands are features and numbers: taking these here, without a call, halves the time.
#[inline(always)]
fn number(expr: &Expr<usize>, row: &(impl Row + ?Sized)) -> f64 {
    match expr {
        Expr::Number(x) => *x,
        Expr::Feature(slot) => row.number(*slot),
        Expr::Binary(op, a, b) => arithmetic(*op, a, b, row),
        _ => other_number(expr, row),
    }
}

fn arithmetic(op: BinaryOp, a: &Expr<usize>, b: &Expr<usize>, row: &(impl Row + ?Sized)) -> f64 {
    let (a, b) = (number(a, row), number(b, row));
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div if b != 0.0 => a / b,
        BinaryOp::Rem => modulo(a, b).unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

/// Apart, so that arithmetic saves no registers for it.
#[inline(never)]
fn other_number(expr: &Expr<usize>, row: &(impl Row + ?Sized)) -> f64 {
    match expr {
        Expr::Unary(UnaryOp::Neg, a) => -number(a, row),
        Expr::If(c, a, b) => match truth(c, row) {
            Some(c) => number(if c { a } else { b }, row),
            None => f64::NAN,
        },
        Expr::Call(function, args) => call(*function, args, row),
        Expr::Number(_) | Expr::Feature(_) | Expr::Binary(..) => number(expr, row),
        Expr::Bool(_) | Expr::Text(_) | Expr::Unary(UnaryOp::Not, _) => f64::NAN,
    }
}

/// `None` where it is undefined or no truth value.
fn truth(expr: &Expr<usize>, row: &(impl Row + ?Sized)) -> Option<bool> {
    let compare = |a, b| Some((defined(number(a, row))?, defined(number(b, row))?));
    match expr {
        Expr::Bool(b) => Some(*b),
        Expr::Feature(slot) => match row.scalar(*slot)? {
            Scalar::Bool(b) => Some(b),
            _ => None,
        },
        Expr::Unary(UnaryOp::Not, a) => Some(!truth(a, row)?),
        Expr::Binary(op, a, b) => match op {
            BinaryOp::And => Some(truth(a, row)? && truth(b, row)?),
            BinaryOp::Or => Some(truth(a, row)? || truth(b, row)?),
            BinaryOp::Eq => equal(a, b, row),
            BinaryOp::Ne => Some(!equal(a, b, row)?),
            BinaryOp::Lt => compare(a, b).map(|(a, b)| a < b),
            BinaryOp::Le => compare(a, b).map(|(a, b)| a <= b),
            BinaryOp::Gt => compare(a, b).map(|(a, b)| a > b),
            BinaryOp::Ge => compare(a, b).map(|(a, b)| a >= b),
            _ => None,
        },
        Expr::If(c, a, b) => truth(if truth(c, row)? { a } else { b }, row),
        _ => None,
    }
}

/// A category, or `True` and `False`; `None` where it is undefined or a number.
fn text<'a>(expr: &'a Expr<usize>, row: &'a (impl Row + ?Sized)) -> Option<&'a str> {
    match expr {
        Expr::Text(text) => Some(text),
        Expr::Feature(slot) => row.category(*slot),
        Expr::If(c, a, b) => text(if truth(c, row)? { a } else { b }, row),
        _ => truth(expr, row).map(bool_name),
    }
}

fn equal(a: &Expr<usize>, b: &Expr<usize>, row: &(impl Row + ?Sized)) -> Option<bool> {
    // The common comparisons, with what the expression itself names, need no further look.
    match (a, b) {
        (Expr::Feature(slot), Expr::Text(name)) | (Expr::Text(name), Expr::Feature(slot)) => {
            return row.category(*slot).map(|category| category == name);
        }
        (Expr::Feature(_), Expr::Number(_)) => {
            return Some(defined(number(a, row))? == defined(number(b, row))?);
        }
        _ => {}
    }
    let by_text = || {
        let (a, b) = (text(a, row)?, text(b, row)?);
        (row.tells_apart(a) || row.tells_apart(b)).then_some(a == b)
    };
    match computes_number(a).or(computes_number(b)) {
        Some(false) => by_text(),
        Some(true) => Some(defined(number(a, row))? == defined(number(b, row))?),
        // Two features: both are numbers or both are not.
        None => by_text().or_else(|| Some(defined(number(a, row))? == defined(number(b, row))?)),
    }
}

/// Whether it is a number, as far as the expression itself says.
fn computes_number(expr: &Expr<usize>) -> Option<bool> {
    match expr {
        Expr::Feature(_) => None,
        Expr::Number(_) | Expr::Unary(UnaryOp::Neg, _) | Expr::Call(..) => Some(true),
        Expr::Binary(op, ..) => Some(op.precedence() > BinaryOp::Eq.precedence()),
        Expr::If(_, a, b) => computes_number(a).or(computes_number(b)),
        Expr::Bool(_) | Expr::Text(_) | Expr::Unary(UnaryOp::Not, _) => Some(false),
    }
}

fn call(function: Function, args: &[Expr<usize>], row: &(impl Row + ?Sized)) -> f64 {
    let Some((first, rest)) = args.split_first() else { return f64::NAN };
    let first = number(first, row);
    let undefined = |x: Option<f64>| x.unwrap_or(f64::NAN);
    // Comparisons pass NaN over, so it has to be looked for.
    let fold = |better: fn(f64, f64) -> bool| {
        let mut numbers = rest.iter().map(|arg| number(arg, row));
        let pick = |a: f64, b: f64| Some(if better(defined(b)?, a) { b } else { a });
        undefined(defined(first).and_then(|first| numbers.try_fold(first, pick)))
    };
    match function {
        Function::Min => fold(|b, a| b < a),
        Function::Max => fold(|b, a| b > a),
        Function::Abs => first.abs(),
        Function::Floor => first.floor(),
        Function::Ceil => first.ceil(),
        Function::Log2 => undefined(log2(first)),
        Function::Ctz => undefined(ctz(first)),
    }
}
