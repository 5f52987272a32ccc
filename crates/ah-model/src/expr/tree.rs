//! The tree of an expression: as parsed, with the names of features, and as resolved, with their slots.

use std::hash::{Hash, Hasher};

use crate::feature::FeatureKind;
use crate::math;

/// An expression. [`parse`](super::parse) returns one over names, whose types are not checked yet.
/// [`resolve`](Expr::resolve) turns it into one over slots; there each operand has the type that its operator takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr<F = Slot> {
    /// A number.
    Number(f64),
    /// A truth value.
    Bool(bool),
    /// A category's name.
    Text(String),
    /// The value of a feature.
    Feature(F),
    /// An operation on one operand.
    Unary(Unary, Box<Self>),
    /// An operation on two operands. `min` and `max` of more nest to the left.
    Binary(Binary, Box<Self>, Box<Self>),
    /// `if .0 then .1 else .2`
    If(Box<Self>, Box<Self>, Box<Self>),
}

/// A feature of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Its position.
    pub index: usize,
    /// Its kind.
    pub kind: FeatureKind,
}

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

/// Operations on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// `-x`
    Neg,
    /// `not x`
    Not,
    /// The absolute value.
    Abs,
    /// The greatest whole number that is not above the operand.
    Floor,
    /// The least whole number that is not below the operand.
    Ceil,
    /// The logarithm to base 2.
    Log2,
    /// The number of trailing zero bits.
    Ctz,
}

/// Operations on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `a or b`; `b` is computed only if `a` is false.
    Or,
    /// `a and b`; `b` is computed only if `a` is true.
    And,
    /// A comparison of numbers; of anything before types are checked.
    Compare(Comparison),
    /// `a == b` for categories and truth values. Only resolving creates it.
    Same,
    /// `a != b` for categories and truth values. Only resolving creates it.
    Differ,
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

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
}

impl Comparison {
    /// Whether the comparison holds; undefined where an operand is NaN.
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

/// The precedence of comparisons.
pub(super) const COMPARISON: u8 = 4;
/// The precedence of functions.
const FUNCTION: u8 = u8::MAX;

impl Unary {
    /// The functions of one operand.
    pub const FUNCTIONS: [Self; 5] = [Self::Abs, Self::Floor, Self::Ceil, Self::Log2, Self::Ctz];

    /// Its text.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Neg => "-",
            Self::Not => "not",
            Self::Abs => "abs",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Log2 => "log2",
            Self::Ctz => "ctz",
        }
    }

    /// The result for a number; NaN if it or the operand is undefined, or for `not`.
    #[inline(always)]
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Self::Neg => -x,
            Self::Abs => x.abs(),
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
            Self::Log2 => math::log2(x),
            Self::Ctz => math::ctz(x),
            Self::Not => f64::NAN,
        }
    }
}

impl Binary {
    /// The functions of two or more operands.
    pub const FUNCTIONS: [Self; 2] = [Self::Min, Self::Max];

    /// Each operation with its text and its precedence; larger binds tighter. Parsing takes the first one of its text.
    const ALL: [(Self, &'static str, u8); 17] = [
        (Self::Or, "or", 1),
        (Self::And, "and", 2),
        (Self::Compare(Comparison::Eq), "==", COMPARISON),
        (Self::Compare(Comparison::Ne), "!=", COMPARISON),
        (Self::Compare(Comparison::Lt), "<", COMPARISON),
        (Self::Compare(Comparison::Le), "<=", COMPARISON),
        (Self::Compare(Comparison::Gt), ">", COMPARISON),
        (Self::Compare(Comparison::Ge), ">=", COMPARISON),
        (Self::Same, "==", COMPARISON),
        (Self::Differ, "!=", COMPARISON),
        (Self::Add, "+", 5),
        (Self::Sub, "-", 5),
        (Self::Mul, "*", 6),
        (Self::Div, "/", 6),
        (Self::Rem, "%", 6),
        (Self::Min, "min", FUNCTION),
        (Self::Max, "max", FUNCTION),
    ];

    /// The operator with this text, as parsed.
    pub fn operator(text: &str) -> Option<Self> {
        let found =
            Self::ALL.iter().find(|(_, symbol, precedence)| *symbol == text && *precedence < FUNCTION);
        found.map(|(op, ..)| *op)
    }

    fn described(self) -> (&'static str, u8) {
        let found = Self::ALL.iter().find(|(op, ..)| *op == self);
        found.map_or(("", FUNCTION), |(_, symbol, precedence)| (symbol, *precedence))
    }

    /// Its text.
    pub fn symbol(self) -> &'static str {
        self.described().0
    }

    /// Its precedence; larger binds tighter.
    pub fn precedence(self) -> u8 {
        self.described().1
    }

    /// The result for two numbers; NaN if it or an operand is undefined, or if the result is a truth value.
    #[inline(always)]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div if b == 0.0 => f64::NAN,
            Self::Div => a / b,
            Self::Rem => math::modulo(a, b),
            // A comparison with NaN is false: a NaN in `a` stays, a NaN in `b` needs its own test.
            Self::Min if b < a || b.is_nan() => b,
            Self::Max if b > a || b.is_nan() => b,
            Self::Min | Self::Max => a,
            Self::Or | Self::And | Self::Compare(_) | Self::Same | Self::Differ => f64::NAN,
        }
    }
}

impl Type {
    /// The kind of the feature that an expression of this type derives.
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

impl<F> Expr<F> {
    /// `a op b`.
    pub fn binary(op: Binary, a: Self, b: Self) -> Self {
        Self::Binary(op, Box::new(a), Box::new(b))
    }

    /// Calls `f` with every part of the tree: an operation first, then its operands from left to right.
    pub fn for_each<'a>(&'a self, f: &mut impl FnMut(&'a Self)) {
        f(self);
        self.operands().into_iter().flatten().for_each(|operand| operand.for_each(f));
    }

    /// The operands, at most three.
    pub fn operands(&self) -> [Option<&Self>; 3] {
        match self {
            Self::Number(_) | Self::Bool(_) | Self::Text(_) | Self::Feature(_) => [None; 3],
            Self::Unary(_, a) => [Some(a), None, None],
            Self::Binary(_, a, b) => [Some(a), Some(b), None],
            Self::If(c, a, b) => [Some(c), Some(a), Some(b)],
        }
    }

    /// Calls `f` with every feature that the expression reads, left to right.
    pub fn for_each_feature<'a>(&'a self, f: &mut impl FnMut(&'a F)) {
        self.for_each(&mut |part| {
            if let Self::Feature(feature) = part {
                f(feature);
            }
        });
    }
}

impl Expr {
    /// The type of the result.
    pub fn ty(&self) -> Type {
        match self {
            Self::Text(_) => Type::Category,
            Self::Feature(slot) if slot.kind == FeatureKind::Categorical => Type::Category,
            Self::Number(_) | Self::Feature(_) => Type::Number,
            Self::Bool(_) | Self::Unary(Unary::Not, _) => Type::Bool,
            Self::Binary(Binary::Or | Binary::And | Binary::Compare(_), ..) => Type::Bool,
            Self::Binary(Binary::Same | Binary::Differ, ..) => Type::Bool,
            Self::Unary(..) | Self::Binary(..) => Type::Number,
            Self::If(_, a, _) => a.ty(),
        }
    }
}

impl<F: Eq> Eq for Expr<F> {}

/// Equal expressions have equal hashes; 0 and -0 are equal.
impl<F: Hash> Hash for Expr<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Number(x) => (x + 0.0).to_bits().hash(state),
            Self::Bool(value) => value.hash(state),
            Self::Text(text) => text.hash(state),
            Self::Feature(feature) => feature.hash(state),
            Self::Unary(op, a) => (op, a).hash(state),
            Self::Binary(op, a, b) => (op, a, b).hash(state),
            Self::If(c, a, b) => (c, a, b).hash(state),
        }
    }
}
