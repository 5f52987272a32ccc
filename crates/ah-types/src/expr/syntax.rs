//! The syntax tree of the expression language.

/// The syntax tree, as parsed: features are names, and types are not yet checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(f64),
    /// A truth value.
    Bool(bool),
    /// A category's name.
    Text(String),
    /// The value of a feature.
    Feature(String),
    /// `-x` or `not x`.
    Unary(UnaryOp, Box<Expr>),
    /// `a op b`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `if .0 then .1 else .2`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A call.
    Call(Function, Vec<Expr>),
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
    /// `a == b`, `a < b` and so on
    Compare(Comparison),
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

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// All comparisons.
    pub const ALL: [Self; 6] = [Self::Eq, Self::Ne, Self::Lt, Self::Le, Self::Gt, Self::Ge];

    /// Returns its text.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

/// The precedence of comparisons.
pub(super) const COMPARISON: u8 = 4;

impl BinaryOp {
    /// All operators.
    pub const ALL: [Self; 13] = [
        Self::Or,
        Self::And,
        Self::Compare(Comparison::Eq),
        Self::Compare(Comparison::Ne),
        Self::Compare(Comparison::Lt),
        Self::Compare(Comparison::Le),
        Self::Compare(Comparison::Gt),
        Self::Compare(Comparison::Ge),
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Rem,
    ];

    /// Returns its text.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Compare(comparison) => comparison.symbol(),
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
        }
    }

    /// Returns its precedence; larger binds tighter.
    pub fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Compare(_) => COMPARISON,
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
    /// The greatest whole number that is not above the argument.
    Floor,
    /// The least whole number that is not below the argument.
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

    /// Returns its name.
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

    /// Returns true if it takes two or more operands rather than one.
    pub fn is_variadic(self) -> bool {
        matches!(self, Self::Min | Self::Max)
    }
}

impl Expr {
    /// Calls `f` with the name of every feature that the expression reads, left to right.
    pub fn for_each_feature<'a>(&'a self, f: &mut impl FnMut(&'a str)) {
        match self {
            Self::Number(_) | Self::Bool(_) | Self::Text(_) => {}
            Self::Feature(name) => f(name),
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
            Self::Call(_, operands) => operands.iter().for_each(|a| a.for_each_feature(f)),
        }
    }
}
