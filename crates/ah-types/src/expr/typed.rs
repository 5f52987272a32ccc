//! Checking an expression against a schema: names become slots, and every
//! operator gets operands of its type.

use super::{BinaryOp, Expr, Function, UnaryOp};
use crate::feature::{FeatureKind, Schema};

/// What an expression computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// An f64.
    Number,
    /// True or false; as a feature, the category `True` or `False`.
    Bool,
    /// A category's name.
    Category,
}

impl Type {
    /// The kind of the feature that an expression of this type derives.
    #[must_use]
    pub fn kind(self) -> FeatureKind {
        match self {
            Self::Number => FeatureKind::Numerical,
            Self::Bool | Self::Category => FeatureKind::Categorical,
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Number => "a number",
            Self::Bool => "a truth value",
            Self::Category => "a category",
        })
    }
}

/// An expression does not fit a schema.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TypeError {
    /// It names a feature that the schema does not have.
    #[error("unknown feature {feature:?} in the expression {expression:?}; the features are {}", known.join(", "))]
    UnknownFeature {
        /// The name.
        feature: String,
        /// The whole expression.
        expression: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// An operand has another type than its operator takes.
    #[error("expected {expected}, found {found}: {part:?} in the expression {expression:?}")]
    Mismatch {
        /// The type that the operator takes.
        expected: Type,
        /// The operand's type.
        found: Type,
        /// The operand.
        part: String,
        /// The whole expression.
        expression: String,
    },
}

/// An expression that fits a schema: features are slots, types agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    expr: Expr<usize>,
    ty: Type,
}

impl Typed {
    /// What it computes.
    #[must_use]
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// The syntax tree over slots.
    #[must_use]
    pub fn expr(&self) -> &Expr<usize> {
        &self.expr
    }

    /// The same, which must compute a truth value.
    ///
    /// # Errors
    /// [`TypeError::Mismatch`] otherwise.
    pub fn expect_bool(self, source: &Expr) -> Result<Self, TypeError> {
        if self.ty == Type::Bool {
            return Ok(self);
        }
        Err(TypeError::Mismatch {
            expected: Type::Bool,
            found: self.ty,
            part: source.to_string(),
            expression: source.to_string(),
        })
    }
}

impl Expr {
    /// Checks names and types against `schema`.
    ///
    /// # Errors
    /// [`TypeError`] for the first unknown feature or mistyped operand.
    pub fn resolve(&self, schema: &Schema) -> Result<Typed, TypeError> {
        let ty = Checker { schema, whole: self }.type_of(self)?;
        let expr = self.try_map(&mut |name: &String| {
            schema.slot(name).ok_or_else(|| Checker { schema, whole: self }.unknown(name))
        })?;
        Ok(Typed { expr, ty })
    }
}

struct Checker<'a> {
    schema: &'a Schema,
    whole: &'a Expr,
}

impl Checker<'_> {
    fn unknown(&self, name: &str) -> TypeError {
        TypeError::UnknownFeature {
            feature: name.to_owned(),
            expression: self.whole.to_string(),
            known: self.schema.features().iter().map(|f| f.name.clone()).collect(),
        }
    }

    fn type_of(&self, expr: &Expr) -> Result<Type, TypeError> {
        Ok(match expr {
            Expr::Number(_) => Type::Number,
            Expr::Bool(_) => Type::Bool,
            Expr::Text(_) => Type::Category,
            Expr::Feature(name) => match self.schema.get(name).ok_or_else(|| self.unknown(name))?.kind {
                FeatureKind::Numerical => Type::Number,
                FeatureKind::Categorical => Type::Category,
            },
            Expr::Unary(UnaryOp::Neg, a) => self.expect(a, Type::Number)?,
            Expr::Unary(UnaryOp::Not, a) => self.expect(a, Type::Bool)?,
            Expr::Binary(op, a, b) => self.binary(*op, a, b)?,
            Expr::If(c, a, b) => {
                self.expect(c, Type::Bool)?;
                let ty = self.type_of(a)?;
                self.expect(b, ty)?
            }
            Expr::Call(function, args) => self.call(*function, args)?,
        })
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Result<Type, TypeError> {
        use BinaryOp::{Add, And, Div, Eq, Ge, Gt, Le, Lt, Mul, Ne, Or, Rem, Sub};
        match op {
            Or | And => {
                self.expect(a, Type::Bool)?;
                self.expect(b, Type::Bool)
            }
            Add | Sub | Mul | Div | Rem => {
                self.expect(a, Type::Number)?;
                self.expect(b, Type::Number)
            }
            Lt | Le | Gt | Ge => {
                self.expect(a, Type::Number)?;
                self.expect(b, Type::Number)?;
                Ok(Type::Bool)
            }
            Eq | Ne => {
                // A categorical feature may hold `True` and `False`, so it compares with truth values too.
                let ty = self.type_of(a)?;
                if ty == Type::Number || self.type_of(b)? == Type::Number {
                    self.expect(b, ty)?;
                }
                Ok(Type::Bool)
            }
        }
    }

    fn call(&self, _function: Function, args: &[Expr]) -> Result<Type, TypeError> {
        for arg in args {
            self.expect(arg, Type::Number)?;
        }
        Ok(Type::Number)
    }

    fn expect(&self, part: &Expr, expected: Type) -> Result<Type, TypeError> {
        let found = self.type_of(part)?;
        if found == expected {
            return Ok(found);
        }
        Err(TypeError::Mismatch {
            expected,
            found,
            part: part.to_string(),
            expression: self.whole.to_string(),
        })
    }
}
