//! Prints typed expressions: one walk for all languages, and for each language a [`Dialect`].
//!
//! An undefined number is NaN. For undefined truth values and categories each language has its own way: Rust leaves
//! the function through `?`, C has -1, Python has `None`. Where a language's own operator differs from the model's
//! operation, the code calls a helper that the templates define.

use std::collections::BTreeSet;

use ah_types::expr::{Binary, Comparison, Expr, Type, Unary};

use crate::lower::{LoweredModel, WholeOperation};
use crate::printing::code::{Binds, Code};
use crate::printing::shared_parts::{SharedParts, Use};
use crate::printing::text::number;

/// How a language writes the parts of an expression.
pub trait Dialect {
    /// Returns the beginning of the names of helpers.
    fn helper_prefix(&self) -> &str {
        ""
    }

    /// Returns true if `+ - *`, `/` and the sign `-` compute the model's results. A helper divides by zero.
    fn has_arithmetic(&self) -> bool {
        true
    }

    fn number(&self, x: f64) -> Code {
        Code::literal(number(x))
    }

    fn truth(&self, value: bool) -> Code;

    fn category(&self, name: &str) -> Code;

    /// Returns the value of a feature; a category has the form in which categories are compared.
    fn feature(&self, slot: usize) -> Code;

    /// Returns the call of a helper whose truth value may be undefined.
    fn maybe(&self, call: Code) -> Code {
        call
    }

    /// Returns the operation on a logged whole number and a literal in integers, if the language has it.
    fn whole(&self, _operation: &WholeOperation, _called: &mut Calls) -> Option<Code> {
        None
    }

    /// Returns the comparison of a logged whole number with a literal in integers, if the language has it.
    fn compare_whole(&self, _slot: usize, _comparison: Comparison, _literal: f64) -> Option<Code> {
        None
    }

    /// Returns an operation in the language's own operators, if that is faster than the helper of this name.
    /// `literal` is the value of the last operand if that is a literal.
    fn inline(
        &self,
        _helper: &'static str,
        _operands: &[Code],
        _literal: Option<f64>,
        _called: &mut Calls,
    ) -> Option<Code> {
        None
    }

    /// Returns the test for a category, if the language has a shorter form than comparing two categories.
    fn is_category(&self, _slot: usize, _name: &str, _equal: bool) -> Option<Code> {
        None
    }

    /// Returns `left == right` for two categories; at least one is a literal.
    fn equal(&self, left: Code, right: Code, equal: bool, called: &mut Calls) -> Code {
        let is = self.maybe(called.helper(self, "is", [left, right]));
        if equal { is } else { self.not(is, called) }
    }

    /// `not a`
    fn not(&self, a: Code, called: &mut Calls) -> Code {
        called.helper(self, "not", [a])
    }

    /// `a and b`
    fn and(&self, a: Code, b: Code, called: &mut Calls) -> Code;

    /// `a or b`
    fn or(&self, a: Code, b: Code, called: &mut Calls) -> Code;

    /// `if c then a else b`
    fn choose(&self, c: Code, a: Code, b: Code, ty: Type, called: &mut Calls) -> Code;

    /// Returns the category `True` or `False` of a truth value.
    fn category_of(&self, truth: Code, called: &mut Calls) -> Code {
        called.helper(self, "category", [truth])
    }
}

/// The helpers that each helper calls, callers first.
const CALLS: [(&str, &[&str]); 11] = [
    ("low_bits", &["exact", "modulo"]),
    ("ceil_shifted", &["exact", "ceil"]),
    ("floor_shifted", &["exact", "floor"]),
    ("trailing_zeros", &["exact", "ctz", "zeros"]),
    ("ctz", &["zeros", "undefined"]),
    ("divide", &["undefined"]),
    ("modulo", &["add", "undefined"]),
    ("log2", &["add", "mul", "undefined"]),
    ("add", &["rounded"]),
    ("sub", &["rounded"]),
    ("mul", &["rounded"]),
];

/// The helpers and variables of printed expressions.
#[derive(Default)]
pub struct Calls {
    pub helpers: BTreeSet<&'static str>,
    /// The number of variables for truth values in the current expression.
    variables: usize,
}

impl Calls {
    /// Returns a call of a helper.
    pub fn helper(
        &mut self,
        dialect: &(impl Dialect + ?Sized),
        name: &'static str,
        arguments: impl IntoIterator<Item = Code>,
    ) -> Code {
        self.helpers.insert(name);
        Code::call(&format!("{}{name}", dialect.helper_prefix()), arguments)
    }

    /// Returns a variable that is used once in this expression. No identifier made from a name ends in `_`.
    pub fn variable(&mut self) -> String {
        self.variables += 1;
        variable(self.variables - 1)
    }

    /// Returns the helpers, and those that they call in any language.
    pub fn all_helpers(mut self) -> BTreeSet<&'static str> {
        for (caller, callees) in CALLS {
            if self.helpers.contains(caller) {
                self.helpers.extend(callees);
            }
        }
        self.helpers
    }

    /// Returns the variables since the last call of this function.
    pub fn take_variables(&mut self) -> Vec<String> {
        (0..std::mem::take(&mut self.variables)).map(variable).collect()
    }
}

fn variable(index: usize) -> String {
    format!("t{index}_")
}

/// Prints the expressions of a model.
pub struct Printer<'a, D: ?Sized> {
    pub lowered: &'a LoweredModel<'a>,
    /// The language.
    pub dialect: &'a D,
    /// The helpers and variables used so far.
    pub called: Calls,
    /// The parts that several expressions have in common, if each is computed once.
    pub shared: Option<SharedParts>,
}

impl<D: Dialect + ?Sized> Printer<'_, D> {
    /// Prints any expression.
    pub fn print(&mut self, expr: &Expr) -> Code {
        match expr.ty() {
            Type::Number => self.number(expr),
            Type::Bool => self.truth(expr),
            Type::Category => self.category(expr),
        }
    }

    /// Returns a call of a helper, or the language's own operators. `last` is the last operand.
    fn helper<const N: usize>(&mut self, name: &'static str, arguments: [Code; N], last: &Expr) -> Code {
        let literal = if let Expr::Number(x) = last { Some(*x) } else { None };
        let inline = self.dialect.inline(name, &arguments, literal, &mut self.called);
        inline.unwrap_or_else(|| {
            let call = self.called.helper(self.dialect, name, arguments);
            if is_comparison(name) { self.dialect.maybe(call) } else { call }
        })
    }

    fn number(&mut self, expr: &Expr) -> Code {
        if matches!(expr, Expr::Number(_) | Expr::Feature(_)) {
            return self.unshared(expr);
        }
        match self.shared.as_mut().map(|shared| shared.use_of(expr)) {
            None | Some(Use::Only) => self.unshared(expr),
            Some(Use::Again(name)) => Code::atom(name),
            Some(Use::First) => {
                let code = self.unshared(expr);
                let name = self.called.variable();
                if let Some(shared) = &mut self.shared {
                    shared.assign(expr, &name, code.alone());
                }
                Code::atom(name)
            }
        }
    }

    fn unshared(&mut self, expr: &Expr) -> Code {
        if let Some(operation) = self.lowered.whole_operation(expr)
            && let Some(code) = self.dialect.whole(&operation, &mut self.called)
        {
            return code;
        }
        match expr {
            Expr::Number(x) => self.dialect.number(*x),
            Expr::Feature(slot) => self.dialect.feature(slot.index),
            Expr::Unary(function, operand) => {
                let a = self.number(operand);
                match function {
                    Unary::Neg if self.dialect.has_arithmetic() => {
                        Code::new(Binds::Sign, format!("-{}", a.above(Binds::Sign)))
                    }
                    Unary::Neg => self.helper("neg", [a], operand),
                    Unary::Abs => self.helper("abs", [a], operand),
                    Unary::Floor => self.helper("floor", [a], operand),
                    Unary::Ceil => self.helper("ceil", [a], operand),
                    Unary::Log2 => self.helper("log2", [a], operand),
                    Unary::Ctz => self.helper("ctz", [a], operand),
                    Unary::Not => unreachable!("a truth value"),
                }
            }
            Expr::Binary(operation, a, last) => {
                let safe = self.dialect.has_arithmetic();
                let safe_divisor = safe && matches!(**last, Expr::Number(x) if x != 0.0);
                let (a, b) = (self.number(a), self.number(last));
                match operation {
                    Binary::Add if safe => Code::binary(Binds::Sum, a, "+", b),
                    Binary::Sub if safe => Code::binary(Binds::Sum, a, "-", b),
                    Binary::Mul if safe => Code::binary(Binds::Product, a, "*", b),
                    Binary::Div if safe_divisor => Code::binary(Binds::Product, a, "/", b),
                    Binary::Add => self.helper("add", [a, b], last),
                    Binary::Sub => self.helper("sub", [a, b], last),
                    Binary::Mul => self.helper("mul", [a, b], last),
                    Binary::Div => self.helper("divide", [a, b], last),
                    Binary::Rem => self.helper("modulo", [a, b], last),
                    Binary::Min => self.helper("min", [a, b], last),
                    Binary::Max => self.helper("max", [a, b], last),
                    Binary::Or | Binary::And | Binary::Compare(_) | Binary::Same | Binary::Differ => {
                        unreachable!("a truth value")
                    }
                }
            }
            Expr::If(c, a, b) => {
                let (c, a, b) = (self.truth(c), self.number(a), self.number(b));
                self.dialect.choose(c, a, b, Type::Number, &mut self.called)
            }
            Expr::Bool(_) | Expr::Text(_) => unreachable!("no number"),
        }
    }

    /// Prints a truth value.
    pub fn truth(&mut self, expr: &Expr) -> Code {
        match expr {
            Expr::Bool(value) => self.dialect.truth(*value),
            Expr::Unary(_, a) => {
                let a = self.truth(a);
                self.dialect.not(a, &mut self.called)
            }
            Expr::Binary(Binary::And, a, b) => {
                let (a, b) = (self.truth(a), self.truth(b));
                self.dialect.and(a, b, &mut self.called)
            }
            Expr::Binary(Binary::Or, a, b) => {
                let (a, b) = (self.truth(a), self.truth(b));
                self.dialect.or(a, b, &mut self.called)
            }
            Expr::Binary(Binary::Compare(comparison), a, b) => self.compare(*comparison, a, b),
            Expr::Binary(op, left, right) => self.matches(*op == Binary::Same, left, right),
            Expr::If(c, a, b) => {
                let (c, a, b) = (self.truth(c), self.truth(a), self.truth(b));
                self.dialect.choose(c, a, b, Type::Bool, &mut self.called)
            }
            Expr::Number(_) | Expr::Text(_) | Expr::Feature(_) => unreachable!("no truth value"),
        }
    }

    fn compare(&mut self, comparison: Comparison, a: &Expr, b: &Expr) -> Code {
        if let (Expr::Feature(slot), Expr::Number(x)) = (a, b)
            && self.lowered.is_whole(slot.index)
            && let Some(code) = self.dialect.compare_whole(slot.index, comparison, *x)
        {
            return code;
        }
        let operands = [self.number(a), self.number(b)];
        self.helper(comparison_name(comparison), operands, b)
    }

    fn matches(&mut self, equal: bool, left: &Expr, right: &Expr) -> Code {
        if let (Expr::Feature(slot), Expr::Text(name)) | (Expr::Text(name), Expr::Feature(slot)) =
            (left, right)
            && let Some(code) = self.dialect.is_category(slot.index, name, equal)
        {
            return code;
        }
        let has_literal = [left, right].into_iter().any(|e| matches!(e, Expr::Text(_)));
        let (left, right) = (self.category(left), self.category(right));
        if has_literal {
            return self.dialect.equal(left, right, equal, &mut self.called);
        }
        let same = self.called.helper(self.dialect, "same", [left, right]);
        let same = self.dialect.maybe(same);
        if equal { same } else { self.dialect.not(same, &mut self.called) }
    }

    fn category(&mut self, expr: &Expr) -> Code {
        match expr {
            Expr::Text(name) => self.dialect.category(name),
            Expr::Feature(slot) => {
                let value = self.dialect.feature(slot.index);
                if self.lowered.derived_type(slot.index) == Some(Type::Bool) {
                    self.dialect.category_of(value, &mut self.called)
                } else {
                    value
                }
            }
            Expr::If(c, a, b) if expr.ty() == Type::Category => {
                let (c, a, b) = (self.truth(c), self.category(a), self.category(b));
                self.dialect.choose(c, a, b, Type::Category, &mut self.called)
            }
            truth => {
                let truth = self.truth(truth);
                self.dialect.category_of(truth, &mut self.called)
            }
        }
    }
}

/// Returns true if this helper compares two numbers; its result may be undefined.
fn is_comparison(helper: &str) -> bool {
    matches!(helper, "eq" | "ne" | "lt" | "le" | "gt" | "ge")
}

fn comparison_name(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Eq => "eq",
        Comparison::Ne => "ne",
        Comparison::Lt => "lt",
        Comparison::Le => "le",
        Comparison::Gt => "gt",
        Comparison::Ge => "ge",
    }
}
