//! The typed tree: an expression whose features are slots and whose operands have the types that their
//! operators take.
//!
//! [Resolving](super::Expr::resolve) creates it; no other code derives types. Evaluation, compiled steps
//! and printers walk this tree, so they never find an operand of the wrong type.

use super::math;
use super::syntax::Comparison;
use crate::feature::FeatureKind;

/// The type of an expression's result.
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
    /// Returns the kind of the feature that an expression of this type derives.
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

/// An expression that fits a schema.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedExpr {
    /// It computes a number.
    Number(NumberExpr),
    /// It computes a truth value.
    Bool(BoolExpr),
    /// It computes a category.
    Category(CategoryExpr),
}

/// An expression that computes a number.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberExpr {
    /// A constant.
    Literal(f64),
    /// The numerical feature in this slot.
    Feature(usize),
    /// A function of one number.
    Unary(NumberFunction, Box<Self>),
    /// An operation on two numbers. `min` and `max` of more operands nest to the left.
    Binary(Arithmetic, Box<Self>, Box<Self>),
    /// `if .0 then .1 else .2`
    If(Box<BoolExpr>, Box<Self>, Box<Self>),
}

/// An expression that computes a truth value.
#[derive(Clone, Debug, PartialEq)]
pub enum BoolExpr {
    /// A constant.
    Literal(bool),
    /// `not a`
    Not(Box<Self>),
    /// `a and b`; `b` is computed only if `a` is true.
    And(Box<Self>, Box<Self>),
    /// `a or b`; `b` is computed only if `a` is false.
    Or(Box<Self>, Box<Self>),
    /// A comparison of two numbers.
    Compare(Comparison, NumberExpr, NumberExpr),
    /// A comparison of two categories: `a == b`, or `a != b` if `equal` is false.
    Match {
        /// True for `==`.
        equal: bool,
        /// The left operand.
        left: CategoryExpr,
        /// The right operand.
        right: CategoryExpr,
    },
    /// `if .0 then .1 else .2`
    If(Box<Self>, Box<Self>, Box<Self>),
}

/// An expression that computes a category.
#[derive(Clone, Debug, PartialEq)]
pub enum CategoryExpr {
    /// A category's name.
    Text(String),
    /// The categorical feature in this slot. It may be derived from a truth value.
    Feature(usize),
    /// A truth value as a category: `True` or `False`.
    Bool(Box<BoolExpr>),
    /// `if .0 then .1 else .2`
    If(Box<BoolExpr>, Box<Self>, Box<Self>),
}

/// Functions of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFunction {
    /// `-x`
    Neg,
    /// The absolute value.
    Abs,
    /// The greatest whole number that is not above the argument.
    Floor,
    /// The least whole number that is not below the argument.
    Ceil,
    /// The logarithm to base 2.
    Log2,
    /// The number of trailing zero bits.
    Ctz,
}

impl NumberFunction {
    /// Returns the result; NaN if it or the operand is undefined.
    #[inline(always)]
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Self::Neg => -x,
            Self::Abs => x.abs(),
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
            Self::Log2 => math::log2(x).unwrap_or(f64::NAN),
            Self::Ctz => math::ctz(x).unwrap_or(f64::NAN),
        }
    }
}

/// Operations on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `a % b`
    Rem,
    /// The lesser of two; the first if they are equal.
    Min,
    /// The greater of two; the first if they are equal.
    Max,
}

impl Arithmetic {
    /// Returns the result; NaN if it or an operand is undefined.
    #[inline(always)]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div if b == 0.0 => f64::NAN,
            Self::Div => a / b,
            Self::Rem => math::modulo(a, b).unwrap_or(f64::NAN),
            // A comparison with NaN is false: a NaN in `a` stays, a NaN in `b` needs its own test.
            Self::Min if b < a || b.is_nan() => b,
            Self::Max if b > a || b.is_nan() => b,
            Self::Min | Self::Max => a,
        }
    }
}

impl Comparison {
    /// Returns whether the comparison holds; undefined where an operand is NaN.
    #[inline(always)]
    pub fn holds(self, a: f64, b: f64) -> Option<bool> {
        let holds = match self {
            Self::Eq => a == b,
            Self::Ne => a != b,
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
        };
        (!(a.is_nan() || b.is_nan())).then_some(holds)
    }
}

impl TypedExpr {
    /// Returns the type of its result.
    pub fn ty(&self) -> Type {
        match self {
            Self::Number(_) => Type::Number,
            Self::Bool(_) => Type::Bool,
            Self::Category(_) => Type::Category,
        }
    }

    /// Returns the same expression as a category: a truth value is `True` or `False`. `None` for a number.
    pub(super) fn into_category(self) -> Option<CategoryExpr> {
        match self {
            Self::Number(_) => None,
            Self::Bool(a) => Some(CategoryExpr::Bool(Box::new(a))),
            Self::Category(a) => Some(a),
        }
    }
}

/// One node of a typed tree, for code that does not depend on types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A read of the feature in this slot.
    Feature(usize),
    /// The name of a category.
    Text(&'a str),
    /// An operator, a call, or a constant number or truth value.
    Other,
}

impl TypedExpr {
    /// Calls `f` with every part of the tree: an operation first, then its operands from left to right.
    pub fn for_each_part<'a>(&'a self, f: &mut impl FnMut(Part<'a>)) {
        match self {
            Self::Number(a) => a.for_each_part(f),
            Self::Bool(a) => a.for_each_part(f),
            Self::Category(a) => a.for_each_part(f),
        }
    }

    /// Calls `f` with the slot of every feature that the expression reads.
    pub fn for_each_feature(&self, f: &mut impl FnMut(usize)) {
        self.for_each_part(&mut |part| {
            if let Part::Feature(slot) = part {
                f(slot);
            }
        });
    }
}

impl NumberExpr {
    fn for_each_part<'a>(&'a self, f: &mut impl FnMut(Part<'a>)) {
        match self {
            Self::Literal(_) => f(Part::Other),
            Self::Feature(slot) => f(Part::Feature(*slot)),
            Self::Unary(_, a) => {
                f(Part::Other);
                a.for_each_part(f);
            }
            Self::Binary(_, a, b) => {
                f(Part::Other);
                [a, b].into_iter().for_each(|operand| operand.for_each_part(f));
            }
            Self::If(c, a, b) => {
                f(Part::Other);
                c.for_each_part(f);
                [a, b].into_iter().for_each(|operand| operand.for_each_part(f));
            }
        }
    }
}

impl BoolExpr {
    /// See [`TypedExpr::for_each_part`].
    pub fn for_each_part<'a>(&'a self, f: &mut impl FnMut(Part<'a>)) {
        f(Part::Other);
        match self {
            Self::Literal(_) => {}
            Self::Not(a) => a.for_each_part(f),
            Self::And(a, b) | Self::Or(a, b) => {
                [a, b].into_iter().for_each(|operand| operand.for_each_part(f));
            }
            Self::Compare(_, a, b) => [a, b].into_iter().for_each(|operand| operand.for_each_part(f)),
            Self::Match { left, right, .. } => {
                [left, right].into_iter().for_each(|operand| operand.for_each_part(f));
            }
            Self::If(c, a, b) => {
                c.for_each_part(f);
                [a, b].into_iter().for_each(|operand| operand.for_each_part(f));
            }
        }
    }

    /// See [`TypedExpr::for_each_feature`].
    pub fn for_each_feature(&self, f: &mut impl FnMut(usize)) {
        self.for_each_part(&mut |part| {
            if let Part::Feature(slot) = part {
                f(slot);
            }
        });
    }
}

impl CategoryExpr {
    fn for_each_part<'a>(&'a self, f: &mut impl FnMut(Part<'a>)) {
        match self {
            Self::Text(text) => f(Part::Text(text)),
            Self::Feature(slot) => f(Part::Feature(*slot)),
            Self::Bool(a) => a.for_each_part(f),
            Self::If(c, a, b) => {
                f(Part::Other);
                c.for_each_part(f);
                [a, b].into_iter().for_each(|operand| operand.for_each_part(f));
            }
        }
    }
}
