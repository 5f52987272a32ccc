//! The expression language of derived features, preconditions and row filters.
//!
//! One syntax tree, several readers of it: [`Typed::eval`] here, printers for
//! Rust, Python and C in `ah-codegen`.
//!
//! ```text
//! if k > 1024 * m and mat1_dtype == "torch.bfloat16" then 1 else 0
//! ```
//!
//! | level | operators, loosest first |
//! | --- | --- |
//! | choice | `if c then a else b` |
//! | logic | `or`, `and`, `not` |
//! | comparison | `== != < <= > >=` (they do not chain) |
//! | sums | `+ -` |
//! | products | `* / %` |
//! | sign | `-` |
//! | atoms | numbers, `"text"`, `true`, `false`, `feature`, `` `any feature name` ``, `( … )`, calls |
//!
//! Functions: `min max` (two or more numbers), `abs floor ceil log2 ctz` (one number).
//! `ctz` counts the trailing zero bits of a whole number and is 64 for 0.
//!
//! Numbers are f64 throughout. `a % b` has the sign of `b`, as in Python. What has no
//! value is *undefined*: division and `%` by zero, `log2` of zero or less, `ctz` of a
//! number that is not whole, whether two categories are equal that a model does not name (it
//! cannot [tell them apart](Row::tells_apart)), and everything computed from an undefined value or NaN.
//! `and`, `or` and `if` compute only what they need, left to right, so
//! `m != 0 and k / m > 2` is defined for `m = 0`.

mod eval;
mod math;
mod parse;
mod print;
mod typed;

pub use eval::Row;
pub use math::{LOG2_COEFFICIENTS, LOG2_LARGEST, ctz, log2, modulo};
pub use parse::{ParseError, parse};
pub use typed::{Type, TypeError, Typed};

/// The syntax tree. `F` is how a feature is referred to: by name as parsed, by
/// slot once [resolved](Expr::resolve).
#[derive(Clone, Debug, PartialEq)]
pub enum Expr<F = String> {
    /// A number.
    Number(f64),
    /// A truth value.
    Bool(bool),
    /// A category's name.
    Text(String),
    /// The value of a feature.
    Feature(F),
    /// `-x` or `not x`.
    Unary(UnaryOp, Box<Expr<F>>),
    /// `a op b`.
    Binary(BinaryOp, Box<Expr<F>>, Box<Expr<F>>),
    /// `if .0 then .1 else .2`.
    If(Box<Expr<F>>, Box<Expr<F>>, Box<Expr<F>>),
    /// A call.
    Call(Function, Vec<Expr<F>>),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `not x`
    Not,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `a or b`
    Or,
    /// `a and b`
    And,
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
}

impl BinaryOp {
    /// How it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
        }
    }

    /// How tightly it binds; larger is tighter.
    #[must_use]
    pub fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => 4,
            Self::Add | Self::Sub => 5,
            Self::Mul | Self::Div | Self::Rem => 6,
        }
    }
}

/// The functions that can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The least of two or more numbers.
    Min,
    /// The greatest of two or more numbers.
    Max,
    /// The absolute value.
    Abs,
    /// The greatest whole number not above.
    Floor,
    /// The least whole number not below.
    Ceil,
    /// The logarithm to base 2.
    Log2,
    /// The number of trailing zero bits.
    Ctz,
}

impl Function {
    /// All functions.
    pub const ALL: [Self; 7] =
        [Self::Min, Self::Max, Self::Abs, Self::Floor, Self::Ceil, Self::Log2, Self::Ctz];

    /// How it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::Abs => "abs",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Log2 => "log2",
            Self::Ctz => "ctz",
        }
    }

    /// True where it takes two or more operands rather than one.
    #[must_use]
    pub fn is_variadic(self) -> bool {
        matches!(self, Self::Min | Self::Max)
    }
}

impl<F> Expr<F> {
    /// Calls `f` with every feature that the expression mentions, left to right.
    pub fn for_each_feature<'a>(&'a self, f: &mut impl FnMut(&'a F)) {
        match self {
            Self::Number(_) | Self::Bool(_) | Self::Text(_) => {}
            Self::Feature(feature) => f(feature),
            Self::Unary(_, a) => a.for_each_feature(f),
            Self::Binary(_, a, b) => {
                a.for_each_feature(f);
                b.for_each_feature(f);
            }
            Self::If(c, a, b) => {
                c.for_each_feature(f);
                a.for_each_feature(f);
                b.for_each_feature(f);
            }
            Self::Call(_, args) => args.iter().for_each(|a| a.for_each_feature(f)),
        }
    }

    /// Calls `f` with every text that the expression mentions, left to right.
    pub fn for_each_text<'a>(&'a self, f: &mut impl FnMut(&'a str)) {
        match self {
            Self::Text(text) => f(text),
            Self::Number(_) | Self::Bool(_) | Self::Feature(_) => {}
            Self::Unary(_, a) => a.for_each_text(f),
            Self::Binary(_, a, b) => [a, b].into_iter().for_each(|e| e.for_each_text(f)),
            Self::If(c, a, b) => [c, a, b].into_iter().for_each(|e| e.for_each_text(f)),
            Self::Call(_, args) => args.iter().for_each(|a| a.for_each_text(f)),
        }
    }

    /// The same expression with every feature replaced by `f` of it.
    ///
    /// # Errors
    /// The first error of `f`.
    pub fn try_map<G, E>(&self, f: &mut impl FnMut(&F) -> Result<G, E>) -> Result<Expr<G>, E> {
        Ok(match self {
            Self::Number(x) => Expr::Number(*x),
            Self::Bool(b) => Expr::Bool(*b),
            Self::Text(s) => Expr::Text(s.clone()),
            Self::Feature(feature) => Expr::Feature(f(feature)?),
            Self::Unary(op, a) => Expr::Unary(*op, Box::new(a.try_map(f)?)),
            Self::Binary(op, a, b) => Expr::Binary(*op, Box::new(a.try_map(f)?), Box::new(b.try_map(f)?)),
            Self::If(c, a, b) => {
                Expr::If(Box::new(c.try_map(f)?), Box::new(a.try_map(f)?), Box::new(b.try_map(f)?))
            }
            Self::Call(function, args) => {
                Expr::Call(*function, args.iter().map(|a| a.try_map(f)).collect::<Result<_, E>>()?)
            }
        })
    }
}

impl std::str::FromStr for Expr {
    type Err = ParseError;
    fn from_str(source: &str) -> Result<Self, ParseError> {
        parse(source)
    }
}
