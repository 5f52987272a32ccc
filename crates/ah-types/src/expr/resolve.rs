//! Checks an expression against a schema: names become slots, and every operator gets operands of its type.

use super::syntax::{BinaryOp, Comparison, Expr, Function, UnaryOp};
use super::typed::{Arithmetic, BoolExpr, CategoryExpr, NumberExpr, NumberFunction, Type, TypedExpr};
use crate::feature::{FeatureKind, Schema};
use crate::shown::{self, listed, quoted};

/// An expression does not fit a schema.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum TypeError {
    /// It names a feature that the schema does not have.
    #[error(
        "unknown feature {} in the expression {}; the features are {}",
        quoted(feature),
        shown::expression(expression),
        listed(known)
    )]
    UnknownFeature { feature: String, expression: String, known: Vec<String> },
    /// An operand's type is not the one that its operator takes.
    #[error(
        "expected {expected}, found {found}: {} in the expression {}",
        shown::expression(part),
        shown::expression(expression)
    )]
    Mismatch { expected: Type, found: Type, part: String, expression: String },
    /// A function has too few or too many operands. The parser never produces one.
    #[error("expected {expected} for {}, found {found}, in the expression {}", function.name(), shown::expression(expression))]
    Operands { function: Function, expected: &'static str, found: usize, expression: String },
}

impl Expr {
    /// Checks names and types against `schema`.
    ///
    /// # Errors
    /// [`TypeError`] for the first unknown feature or mistyped operand.
    pub fn resolve(&self, schema: &Schema) -> Result<TypedExpr, TypeError> {
        Resolver { schema, whole: self }.any(self)
    }

    /// Resolves an expression that must compute a truth value; see [`resolve`](Self::resolve).
    ///
    /// # Errors
    /// [`TypeError`] for the first unknown feature or mistyped operand, or if the whole has another type.
    pub fn resolve_bool(&self, schema: &Schema) -> Result<BoolExpr, TypeError> {
        Resolver { schema, whole: self }.truth(self)
    }
}

struct Resolver<'a> {
    schema: &'a Schema,
    /// The whole expression, for messages.
    whole: &'a Expr,
}

impl Resolver<'_> {
    fn any(&self, expr: &Expr) -> Result<TypedExpr, TypeError> {
        Ok(match expr {
            Expr::Number(x) => TypedExpr::Number(NumberExpr::Literal(*x)),
            Expr::Bool(b) => TypedExpr::Bool(BoolExpr::Literal(*b)),
            Expr::Text(text) => TypedExpr::Category(CategoryExpr::Text(text.clone())),
            Expr::Feature(name) => self.feature(name)?,
            Expr::Unary(UnaryOp::Neg, a) => {
                TypedExpr::Number(NumberExpr::Unary(NumberFunction::Neg, self.number(a)?.into()))
            }
            Expr::Unary(UnaryOp::Not, a) => TypedExpr::Bool(BoolExpr::Not(self.truth(a)?.into())),
            Expr::Binary(op, a, b) => self.binary(*op, a, b)?,
            Expr::If(c, a, b) => {
                let c = self.truth(c)?.into();
                match self.any(a)? {
                    TypedExpr::Number(a) => {
                        TypedExpr::Number(NumberExpr::If(c, a.into(), self.number(b)?.into()))
                    }
                    TypedExpr::Bool(a) => TypedExpr::Bool(BoolExpr::If(c, a.into(), self.truth(b)?.into())),
                    TypedExpr::Category(a) => {
                        TypedExpr::Category(CategoryExpr::If(c, a.into(), self.category(b)?.into()))
                    }
                }
            }
            Expr::Call(function, operands) => TypedExpr::Number(self.call(*function, operands)?),
        })
    }

    fn feature(&self, name: &str) -> Result<TypedExpr, TypeError> {
        let slot = self.schema.slot(name).ok_or_else(|| TypeError::UnknownFeature {
            feature: name.to_owned(),
            expression: self.whole.to_string(),
            known: self.schema.features().iter().map(|f| f.name.clone()).collect(),
        })?;
        Ok(match self.schema.features()[slot].kind {
            FeatureKind::Numerical => TypedExpr::Number(NumberExpr::Feature(slot)),
            FeatureKind::Categorical => TypedExpr::Category(CategoryExpr::Feature(slot)),
        })
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Result<TypedExpr, TypeError> {
        let arithmetic = |op| -> Result<TypedExpr, TypeError> {
            let (a, b) = (self.number(a)?.into(), self.number(b)?.into());
            Ok(TypedExpr::Number(NumberExpr::Binary(op, a, b)))
        };
        Ok(match op {
            BinaryOp::Or => TypedExpr::Bool(BoolExpr::Or(self.truth(a)?.into(), self.truth(b)?.into())),
            BinaryOp::And => TypedExpr::Bool(BoolExpr::And(self.truth(a)?.into(), self.truth(b)?.into())),
            BinaryOp::Compare(op @ (Comparison::Eq | Comparison::Ne)) => {
                TypedExpr::Bool(self.equality(op, a, b)?)
            }
            BinaryOp::Compare(op) => TypedExpr::Bool(BoolExpr::Compare(op, self.number(a)?, self.number(b)?)),
            BinaryOp::Add => arithmetic(Arithmetic::Add)?,
            BinaryOp::Sub => arithmetic(Arithmetic::Sub)?,
            BinaryOp::Mul => arithmetic(Arithmetic::Mul)?,
            BinaryOp::Div => arithmetic(Arithmetic::Div)?,
            BinaryOp::Rem => arithmetic(Arithmetic::Rem)?,
        })
    }

    /// Numbers compare with numbers. Categories and truth values compare with each other, because a
    /// categorical feature may contain `True` and `False`.
    fn equality(&self, op: Comparison, a: &Expr, b: &Expr) -> Result<BoolExpr, TypeError> {
        let (left, right) = (self.any(a)?, self.any(b)?);
        let (expected, found) = (left.ty(), right.ty());
        match (left, right) {
            (TypedExpr::Number(left), TypedExpr::Number(right)) => Ok(BoolExpr::Compare(op, left, right)),
            (left, right) => match (left.into_category(), right.into_category()) {
                (Some(left), Some(right)) => Ok(BoolExpr::Match { equal: op == Comparison::Eq, left, right }),
                _ => Err(self.mismatch(b, expected, found)),
            },
        }
    }

    fn call(&self, function: Function, operands: &[Expr]) -> Result<NumberExpr, TypeError> {
        match function {
            Function::Min => self.fold(Arithmetic::Min, function, operands),
            Function::Max => self.fold(Arithmetic::Max, function, operands),
            Function::Abs => self.unary(NumberFunction::Abs, function, operands),
            Function::Floor => self.unary(NumberFunction::Floor, function, operands),
            Function::Ceil => self.unary(NumberFunction::Ceil, function, operands),
            Function::Log2 => self.unary(NumberFunction::Log2, function, operands),
            Function::Ctz => self.unary(NumberFunction::Ctz, function, operands),
        }
    }

    fn unary(
        &self,
        op: NumberFunction,
        function: Function,
        operands: &[Expr],
    ) -> Result<NumberExpr, TypeError> {
        match operands {
            [a] => Ok(NumberExpr::Unary(op, self.number(a)?.into())),
            _ => Err(self.operands(function, "one operand", operands.len())),
        }
    }

    fn fold(&self, op: Arithmetic, function: Function, operands: &[Expr]) -> Result<NumberExpr, TypeError> {
        let [first, rest @ ..] = operands else {
            return Err(self.operands(function, "two or more operands", 0));
        };
        let first = self.number(first)?;
        rest.iter()
            .try_fold(first, |sum, next| Ok(NumberExpr::Binary(op, sum.into(), self.number(next)?.into())))
    }

    fn number(&self, expr: &Expr) -> Result<NumberExpr, TypeError> {
        match self.any(expr)? {
            TypedExpr::Number(a) => Ok(a),
            other => Err(self.mismatch(expr, Type::Number, other.ty())),
        }
    }

    /// A categorical feature stands for a condition too: it holds where its value is `True`.
    fn truth(&self, expr: &Expr) -> Result<BoolExpr, TypeError> {
        match self.any(expr)? {
            TypedExpr::Bool(a) => Ok(a),
            // A truth value is logged as the category `True` or `False`.
            TypedExpr::Category(left @ CategoryExpr::Feature(_)) => {
                let right = CategoryExpr::Text("True".into());
                Ok(BoolExpr::Match { equal: true, left, right })
            }
            other => Err(self.mismatch(expr, Type::Bool, other.ty())),
        }
    }

    fn category(&self, expr: &Expr) -> Result<CategoryExpr, TypeError> {
        match self.any(expr)? {
            TypedExpr::Category(a) => Ok(a),
            other => Err(self.mismatch(expr, Type::Category, other.ty())),
        }
    }

    fn mismatch(&self, part: &Expr, expected: Type, found: Type) -> TypeError {
        TypeError::Mismatch { expected, found, part: part.to_string(), expression: self.whole.to_string() }
    }

    fn operands(&self, function: Function, expected: &'static str, found: usize) -> TypeError {
        TypeError::Operands { function, expected, found, expression: self.whole.to_string() }
    }
}
