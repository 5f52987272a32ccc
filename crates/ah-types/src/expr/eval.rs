//! Evaluation. This is the meaning of an expression; generated code must agree with it to the last bit.

use super::math::{ctz, log2, modulo};
use super::{BinaryOp, Expr, Function, Typed, UnaryOp};
use crate::context::{Scalar, Value};

/// Anything that has a value in each slot of a schema.
pub trait Row {
    /// The value in this slot, or `None` where it is undefined.
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>>;
}

impl Row for [Value] {
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        self.get(slot).map(Value::as_scalar)
    }
}

impl Row for [Scalar<'_>] {
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        self.get(slot).copied()
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
        eval(self.expr(), row)
    }

    /// The truth value for one row; undefined counts as `None`.
    #[must_use]
    pub fn eval_bool(&self, row: &(impl Row + ?Sized)) -> Option<bool> {
        match self.eval(row)? {
            Scalar::Bool(b) => Some(b),
            _ => None,
        }
    }
}

fn eval<'a>(expr: &'a Expr<usize>, row: &'a (impl Row + ?Sized)) -> Option<Scalar<'a>> {
    Some(match expr {
        Expr::Number(x) => defined(*x)?,
        Expr::Bool(b) => Scalar::Bool(*b),
        Expr::Text(text) => Scalar::Category(text),
        Expr::Feature(slot) => match row.scalar(*slot)? {
            Scalar::Number(x) => defined(x)?,
            other => other,
        },
        Expr::Unary(UnaryOp::Neg, a) => Scalar::Number(-eval(a, row)?.number()?),
        Expr::Unary(UnaryOp::Not, a) => Scalar::Bool(!truth(a, row)?),
        Expr::Binary(BinaryOp::And, a, b) => Scalar::Bool(truth(a, row)? && truth(b, row)?),
        Expr::Binary(BinaryOp::Or, a, b) => Scalar::Bool(truth(a, row)? || truth(b, row)?),
        Expr::Binary(op, a, b) => binary(*op, eval(a, row)?, eval(b, row)?)?,
        Expr::If(c, a, b) => eval(if truth(c, row)? { a } else { b }, row)?,
        Expr::Call(function, args) => defined(call(*function, args, row)?)?,
    })
}

fn truth(expr: &Expr<usize>, row: &(impl Row + ?Sized)) -> Option<bool> {
    match eval(expr, row)? {
        Scalar::Bool(b) => Some(b),
        _ => None,
    }
}

fn defined(x: f64) -> Option<Scalar<'static>> {
    (!x.is_nan()).then_some(Scalar::Number(x))
}

fn binary<'a>(op: BinaryOp, a: Scalar<'a>, b: Scalar<'a>) -> Option<Scalar<'a>> {
    if let (Some(a), Some(b)) = (a.category(), b.category()) {
        return match op {
            BinaryOp::Eq => Some(Scalar::Bool(a == b)),
            BinaryOp::Ne => Some(Scalar::Bool(a != b)),
            _ => None,
        };
    }
    let (a, b) = (a.number()?, b.number()?);
    Some(match op {
        BinaryOp::Eq => Scalar::Bool(a == b),
        BinaryOp::Ne => Scalar::Bool(a != b),
        BinaryOp::Lt => Scalar::Bool(a < b),
        BinaryOp::Le => Scalar::Bool(a <= b),
        BinaryOp::Gt => Scalar::Bool(a > b),
        BinaryOp::Ge => Scalar::Bool(a >= b),
        BinaryOp::Add => defined(a + b)?,
        BinaryOp::Sub => defined(a - b)?,
        BinaryOp::Mul => defined(a * b)?,
        BinaryOp::Div if b == 0.0 => return None,
        BinaryOp::Div => defined(a / b)?,
        BinaryOp::Rem => defined(modulo(a, b)?)?,
        BinaryOp::And | BinaryOp::Or => return None,
    })
}

fn call(function: Function, args: &[Expr<usize>], row: &(impl Row + ?Sized)) -> Option<f64> {
    let mut numbers = args.iter().map(|a| eval(a, row)?.number());
    let first = numbers.next()??;
    match function {
        Function::Min => numbers.try_fold(first, |a, b| b.map(|b| if b < a { b } else { a })),
        Function::Max => numbers.try_fold(first, |a, b| b.map(|b| if b > a { b } else { a })),
        Function::Abs => Some(first.abs()),
        Function::Floor => Some(first.floor()),
        Function::Ceil => Some(first.ceil()),
        Function::Log2 => log2(first),
        Function::Ctz => ctz(first),
    }
}
