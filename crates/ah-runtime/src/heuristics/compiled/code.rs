//! Closures that compute an expression.
//!
//! A closure reads its operands where they are: `m <= 128` is one call, where walking the tree dispatches three
//! times. `ah_types::expr` defines what an expression means.

use ah_types::expr::{self, BinaryOp, Expr, Function, UnaryOp};

use super::categories::UNNAMED;
use super::decision::Code;

/// Where to read a number. A category is its id, a truth value is 0 or 1, and NaN is undefined.
pub(super) enum Operand {
    Constant(f64),
    /// The logged number in this slot.
    Logged(usize),
    /// The computed feature at this position.
    Computed(usize),
    Code(Code<f64>),
}

impl Operand {
    pub(super) fn code(self) -> Code<f64> {
        match self {
            Self::Constant(x) => Box::new(move |_| x),
            Self::Logged(slot) => Box::new(move |decision| decision.logged(slot)),
            Self::Computed(feature) => Box::new(move |decision| decision.computed(feature)),
            Self::Code(code) => code,
        }
    }
}

/// The model around an expression.
pub(super) trait Scope {
    /// Where to read this feature.
    fn feature(&mut self, slot: usize) -> Operand;
    fn is_number(&self, slot: usize) -> bool;
    /// The id of a category.
    fn id(&self, category: &str) -> f64;
}

/// Returns where to read the value of an expression of any type.
pub(super) fn operand(expr: &Expr<usize>, scope: &mut impl Scope) -> Operand {
    match expr {
        Expr::Number(x) => Operand::Constant(*x),
        Expr::Text(text) => Operand::Constant(scope.id(text)),
        Expr::Feature(slot) => scope.feature(*slot),
        Expr::Unary(UnaryOp::Neg, a) => unary(operand(a, scope), |a| -a),
        Expr::Binary(BinaryOp::Add, a, b) => arithmetic(a, b, scope, |a, b| a + b),
        Expr::Binary(BinaryOp::Sub, a, b) => arithmetic(a, b, scope, |a, b| a - b),
        Expr::Binary(BinaryOp::Mul, a, b) => arithmetic(a, b, scope, |a, b| a * b),
        Expr::Binary(BinaryOp::Div, a, b) => {
            arithmetic(a, b, scope, |a, b| if b == 0.0 { f64::NAN } else { a / b })
        }
        Expr::Binary(BinaryOp::Rem, a, b) => {
            arithmetic(a, b, scope, |a, b| expr::modulo(a, b).unwrap_or(f64::NAN))
        }
        Expr::If(c, a, b) => {
            let (c, a, b) = (truth(c, scope), operand(a, scope).code(), operand(b, scope).code());
            Operand::Code(Box::new(move |decision| match c(decision) {
                Some(true) => a(decision),
                Some(false) => b(decision),
                None => f64::NAN,
            }))
        }
        Expr::Call(function, args) => call(*function, args, scope),
        Expr::Bool(_) | Expr::Unary(UnaryOp::Not, _) | Expr::Binary(..) => {
            let truth = truth(expr, scope);
            Operand::Code(Box::new(move |decision| truth(decision).map_or(f64::NAN, f64::from)))
        }
    }
}

/// Returns the closure of an expression that computes a truth value; `None` is undefined.
pub(super) fn truth(expr: &Expr<usize>, scope: &mut impl Scope) -> Code<Option<bool>> {
    match expr {
        Expr::Bool(b) => {
            let b = *b;
            Box::new(move |_| Some(b))
        }
        Expr::Unary(UnaryOp::Not, a) => {
            let a = truth(a, scope);
            Box::new(move |decision| Some(!a(decision)?))
        }
        Expr::If(c, a, b) => {
            let (c, a, b) = (truth(c, scope), truth(a, scope), truth(b, scope));
            Box::new(move |decision| if c(decision)? { a(decision) } else { b(decision) })
        }
        Expr::Binary(BinaryOp::And, a, b) => {
            let (a, b) = (truth(a, scope), truth(b, scope));
            Box::new(move |decision| if a(decision)? { b(decision) } else { Some(false) })
        }
        Expr::Binary(BinaryOp::Or, a, b) => {
            let (a, b) = (truth(a, scope), truth(b, scope));
            Box::new(move |decision| if a(decision)? { Some(true) } else { b(decision) })
        }
        Expr::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) => equality(*op == BinaryOp::Eq, a, b, scope),
        Expr::Binary(BinaryOp::Lt, a, b) => comparison(a, b, scope, |a, b| a < b),
        Expr::Binary(BinaryOp::Le, a, b) => comparison(a, b, scope, |a, b| a <= b),
        Expr::Binary(BinaryOp::Gt, a, b) => comparison(a, b, scope, |a, b| a > b),
        Expr::Binary(BinaryOp::Ge, a, b) => comparison(a, b, scope, |a, b| a >= b),
        // No type that is checked has it.
        _ => Box::new(|_| None),
    }
}

fn equality(equal: bool, a: &Expr<usize>, b: &Expr<usize>, scope: &mut impl Scope) -> Code<Option<bool>> {
    let may_be_unnamed = may_be_unnamed(a, scope) && may_be_unnamed(b, scope);
    let (a, b) = (operand(a, scope), operand(b, scope));
    if may_be_unnamed {
        // Two categories that the model does not name share an id and may differ.
        binary(
            a,
            b,
            move |a, b| if a == UNNAMED && b == UNNAMED { None } else { defined(a, b, (a == b) == equal) },
        )
    } else {
        binary(a, b, move |a, b| defined(a, b, (a == b) == equal))
    }
}

/// Comparing an undefined operand is undefined.
#[inline(always)]
fn defined(a: f64, b: f64, holds: bool) -> Option<bool> {
    (!(a.is_nan() || b.is_nan())).then_some(holds)
}

/// True for an expression whose category the model may not name.
fn may_be_unnamed(expr: &Expr<usize>, scope: &impl Scope) -> bool {
    match expr {
        Expr::Feature(slot) => !scope.is_number(*slot),
        Expr::If(_, a, b) => may_be_unnamed(a, scope) || may_be_unnamed(b, scope),
        _ => false,
    }
}

fn call(function: Function, args: &[Expr<usize>], scope: &mut impl Scope) -> Operand {
    let mut operands = args.iter().map(|arg| operand(arg, scope));
    let first = operands.next().unwrap_or(Operand::Constant(f64::NAN));
    match function {
        // A comparison with NaN is false, so NaN is checked for.
        Function::Min => operands
            .fold(first, |a, b| Operand::Code(binary(a, b, |a, b| if b < a || b.is_nan() { b } else { a }))),
        Function::Max => operands
            .fold(first, |a, b| Operand::Code(binary(a, b, |a, b| if b > a || b.is_nan() { b } else { a }))),
        Function::Abs => unary(first, f64::abs),
        Function::Floor => unary(first, f64::floor),
        Function::Ceil => unary(first, f64::ceil),
        Function::Log2 => unary(first, |a| expr::log2(a).unwrap_or(f64::NAN)),
        Function::Ctz => unary(first, |a| expr::ctz(a).unwrap_or(f64::NAN)),
    }
}

fn unary(a: Operand, f: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Operand {
    Operand::Code(match a {
        Operand::Logged(a) => Box::new(move |decision| f(decision.logged(a))),
        a => {
            let a = a.code();
            Box::new(move |decision| f(a(decision)))
        }
    })
}

fn arithmetic(
    a: &Expr<usize>,
    b: &Expr<usize>,
    scope: &mut impl Scope,
    f: impl Fn(f64, f64) -> f64 + Send + Sync + 'static,
) -> Operand {
    let (a, b) = (operand(a, scope), operand(b, scope));
    Operand::Code(binary(a, b, f))
}

fn comparison(
    a: &Expr<usize>,
    b: &Expr<usize>,
    scope: &mut impl Scope,
    holds: impl Fn(f64, f64) -> bool + Send + Sync + 'static,
) -> Code<Option<bool>> {
    let (a, b) = (operand(a, scope), operand(b, scope));
    binary(a, b, move |a, b| defined(a, b, holds(a, b)))
}

/// Reads the most frequent kinds of operands without a further call.
fn binary<T: 'static>(a: Operand, b: Operand, f: impl Fn(f64, f64) -> T + Send + Sync + 'static) -> Code<T> {
    use Operand::{Computed, Constant, Logged};
    match (a, b) {
        (Logged(a), Constant(b)) => Box::new(move |decision| f(decision.logged(a), b)),
        (Logged(a), Logged(b)) => Box::new(move |decision| f(decision.logged(a), decision.logged(b))),
        (Computed(a), Constant(b)) => Box::new(move |decision| f(decision.computed(a), b)),
        (a, Constant(b)) => {
            let a = a.code();
            Box::new(move |decision| f(a(decision), b))
        }
        (a, Logged(b)) => {
            let a = a.code();
            Box::new(move |decision| f(a(decision), decision.logged(b)))
        }
        (a, b) => {
            let (a, b) = (a.code(), b.code());
            Box::new(move |decision| f(a(decision), b(decision)))
        }
    }
}
