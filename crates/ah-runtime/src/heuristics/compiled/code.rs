//! Closures that compute an expression.
//!
//! A closure reads its operands where they are: `m <= 128` is one call, where walking the tree dispatches three
//! times. `ah_types::expr` defines what an expression means.

use ah_types::expr::{Arithmetic, BoolExpr, CategoryExpr, Comparison, NumberExpr, NumberFunction, TypedExpr};

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
    fn id(&self, category: &str) -> f64;
}

/// Returns where to read the value of a derived feature.
pub(super) fn operand(expr: &TypedExpr, scope: &mut impl Scope) -> Operand {
    match expr {
        TypedExpr::Number(expr) => number(expr, scope),
        TypedExpr::Bool(expr) => truth_as_number(expr, scope),
        TypedExpr::Category(expr) => category(expr, scope),
    }
}

fn number(expr: &NumberExpr, scope: &mut impl Scope) -> Operand {
    match expr {
        NumberExpr::Literal(x) => Operand::Constant(*x),
        NumberExpr::Feature(slot) => scope.feature(*slot),
        NumberExpr::Unary(function, a) => {
            let a = number(a, scope);
            match function {
                NumberFunction::Neg => unary(a, |a| NumberFunction::Neg.apply(a)),
                NumberFunction::Abs => unary(a, |a| NumberFunction::Abs.apply(a)),
                NumberFunction::Floor => unary(a, |a| NumberFunction::Floor.apply(a)),
                NumberFunction::Ceil => unary(a, |a| NumberFunction::Ceil.apply(a)),
                NumberFunction::Log2 => unary(a, |a| NumberFunction::Log2.apply(a)),
                NumberFunction::Ctz => unary(a, |a| NumberFunction::Ctz.apply(a)),
            }
        }
        NumberExpr::Binary(op, a, b) => {
            let (a, b) = (number(a, scope), number(b, scope));
            Operand::Code(match op {
                Arithmetic::Add => binary(a, b, |a, b| Arithmetic::Add.apply(a, b)),
                Arithmetic::Sub => binary(a, b, |a, b| Arithmetic::Sub.apply(a, b)),
                Arithmetic::Mul => binary(a, b, |a, b| Arithmetic::Mul.apply(a, b)),
                Arithmetic::Div => binary(a, b, |a, b| Arithmetic::Div.apply(a, b)),
                Arithmetic::Rem => binary(a, b, |a, b| Arithmetic::Rem.apply(a, b)),
                Arithmetic::Min => binary(a, b, |a, b| Arithmetic::Min.apply(a, b)),
                Arithmetic::Max => binary(a, b, |a, b| Arithmetic::Max.apply(a, b)),
            })
        }
        NumberExpr::If(c, a, b) => choose(truth(c, scope), number(a, scope), number(b, scope)),
    }
}

/// Returns the id of a category.
fn category(expr: &CategoryExpr, scope: &mut impl Scope) -> Operand {
    match expr {
        CategoryExpr::Text(text) => Operand::Constant(scope.id(text)),
        CategoryExpr::Feature(slot) => scope.feature(*slot),
        CategoryExpr::Bool(expr) => truth_as_number(expr, scope),
        CategoryExpr::If(c, a, b) => choose(truth(c, scope), category(a, scope), category(b, scope)),
    }
}

fn truth_as_number(expr: &BoolExpr, scope: &mut impl Scope) -> Operand {
    let truth = truth(expr, scope);
    Operand::Code(Box::new(move |decision| truth(decision).map_or(f64::NAN, f64::from)))
}

fn choose(c: Code<Option<bool>>, a: Operand, b: Operand) -> Operand {
    let (a, b) = (a.code(), b.code());
    Operand::Code(Box::new(move |decision| match c(decision) {
        Some(true) => a(decision),
        Some(false) => b(decision),
        None => f64::NAN,
    }))
}

/// Returns the closure of an expression that computes a truth value; `None` is undefined.
pub(super) fn truth(expr: &BoolExpr, scope: &mut impl Scope) -> Code<Option<bool>> {
    match expr {
        BoolExpr::Literal(b) => {
            let b = *b;
            Box::new(move |_| Some(b))
        }
        BoolExpr::Not(a) => {
            let a = truth(a, scope);
            Box::new(move |decision| Some(!a(decision)?))
        }
        BoolExpr::And(..) => decided_by(false, expr, scope),
        BoolExpr::Or(..) => decided_by(true, expr, scope),
        BoolExpr::Compare(op, a, b) => {
            let (a, b) = (number(a, scope), number(b, scope));
            match op {
                Comparison::Eq => binary(a, b, |a, b| Comparison::Eq.holds(a, b)),
                Comparison::Ne => binary(a, b, |a, b| Comparison::Ne.holds(a, b)),
                Comparison::Lt => binary(a, b, |a, b| Comparison::Lt.holds(a, b)),
                Comparison::Le => binary(a, b, |a, b| Comparison::Le.holds(a, b)),
                Comparison::Gt => binary(a, b, |a, b| Comparison::Gt.holds(a, b)),
                Comparison::Ge => binary(a, b, |a, b| Comparison::Ge.holds(a, b)),
            }
        }
        BoolExpr::Match { equal, left, right } => matching(*equal, left, right, scope),
        BoolExpr::If(c, a, b) => {
            let (c, a, b) = (truth(c, scope), truth(a, scope), truth(b, scope));
            Box::new(move |decision| if c(decision)? { a(decision) } else { b(decision) })
        }
    }
}

/// Returns the closure of a chain of `and`, which the first `false` decides, or of `or`, which the first `true` decides.
fn decided_by(decides: bool, expr: &BoolExpr, scope: &mut impl Scope) -> Code<Option<bool>> {
    let (mut open, mut parts) = (vec![expr], Vec::new());
    while let Some(next) = open.pop() {
        match next {
            BoolExpr::And(a, b) if !decides => open.extend([&**b, &**a]),
            BoolExpr::Or(a, b) if decides => open.extend([&**b, &**a]),
            part => parts.push(truth(part, scope)),
        }
    }
    Box::new(move |decision| {
        for part in &parts {
            if part(decision)? == decides {
                return Some(decides);
            }
        }
        Some(!decides)
    })
}

fn matching(equal: bool, a: &CategoryExpr, b: &CategoryExpr, scope: &mut impl Scope) -> Code<Option<bool>> {
    let may_be_unnamed = may_be_unnamed(a) && may_be_unnamed(b);
    let (a, b) = (category(a, scope), category(b, scope));
    let matches = move |a, b| Comparison::Eq.holds(a, b).map(|same| same == equal);
    if may_be_unnamed {
        // Two categories that the model does not name share an id and may differ.
        binary(a, b, move |a, b| if a == UNNAMED && b == UNNAMED { None } else { matches(a, b) })
    } else {
        binary(a, b, matches)
    }
}

/// Returns true if the expression may compute a category that the model does not name.
fn may_be_unnamed(expr: &CategoryExpr) -> bool {
    match expr {
        CategoryExpr::Feature(_) => true,
        CategoryExpr::If(_, a, b) => may_be_unnamed(a) || may_be_unnamed(b),
        CategoryExpr::Text(_) | CategoryExpr::Bool(_) => false,
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
