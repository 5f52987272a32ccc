//! Expressions for Python and C as calls of small functions that carry *undefined* along, because
//! the languages' own operators would raise, contract or convert. `and`, `or` and `if` compute only
//! what they need, as the model does.

use std::collections::BTreeSet;

use ah_types::expr::{
    Arithmetic, BoolExpr, CategoryExpr, Comparison, NumberExpr, NumberFunction, Type, TypedExpr,
};

use crate::lower::{LoweredModel, WholeOperation};

/// How a language writes what is no call.
pub struct Words<'a> {
    /// Before every function.
    pub prefix: &'a str,
    /// A number.
    pub number: &'a dyn Fn(f64) -> String,
    /// A truth value.
    pub truth: &'a dyn Fn(bool) -> String,
    /// A category.
    pub text: &'a dyn Fn(&str) -> String,
    /// The value of a feature, as a number, truth value or category.
    pub feature: &'a dyn Fn(usize) -> String,
    /// `if truth then a else b` of the type, where a variable of this name holds the truth value.
    pub choose: &'a dyn Fn(&str, &str, &str, &str, Type) -> String,
    /// `a and b` (where true) or `a or b`; a variable holds the first.
    pub logic: &'a dyn Fn(&str, bool, &str, &str) -> String,
    /// A logged whole number against a literal below 2^53, in integers, where the language has them.
    pub compare: &'a dyn Fn(usize, Comparison, f64) -> Option<String>,
    /// Computed in integers, where the language has them.
    pub whole: &'a dyn Fn(&WholeOperation) -> Option<String>,
}

/// Printed expressions: what they call, and how many variables each needs.
#[derive(Default)]
pub struct Called {
    /// The functions.
    pub functions: BTreeSet<&'static str>,
    /// Variables of the expression at hand.
    pub variables: usize,
}

/// Prints a derived feature.
pub fn print(lowered: &LoweredModel<'_>, words: &Words<'_>, expr: &TypedExpr, called: &mut Called) -> String {
    called.variables = 0;
    let mut printer = Printer { lowered, words, called };
    match expr {
        TypedExpr::Number(a) => printer.number(a),
        TypedExpr::Bool(a) => printer.truth(a),
        TypedExpr::Category(a) => printer.category(a),
    }
}

/// Prints a precondition.
pub fn print_truth(
    lowered: &LoweredModel<'_>,
    words: &Words<'_>,
    expr: &BoolExpr,
    called: &mut Called,
) -> String {
    called.variables = 0;
    Printer { lowered, words, called }.truth(expr)
}

/// The name of a variable; identifiers that stand for names never end so.
pub fn variable(index: usize) -> String {
    format!("t{index}_")
}

struct Printer<'a, 'w> {
    lowered: &'a LoweredModel<'a>,
    words: &'a Words<'w>,
    called: &'a mut Called,
}

impl Printer<'_, '_> {
    fn call(&mut self, function: &'static str, arguments: &[String]) -> String {
        self.called.functions.insert(function);
        format!("{}{function}({})", self.words.prefix, arguments.join(", "))
    }

    fn variable(&mut self) -> String {
        self.called.variables += 1;
        variable(self.called.variables - 1)
    }

    fn number(&mut self, expr: &NumberExpr) -> String {
        if let Some(operation) = self.lowered.whole_operation(expr)
            && let Some(text) = (self.words.whole)(&operation)
        {
            return text;
        }
        match expr {
            NumberExpr::Literal(x) => (self.words.number)(*x),
            NumberExpr::Feature(slot) => (self.words.feature)(*slot),
            NumberExpr::Unary(function, a) => {
                let a = self.number(a);
                let name = match function {
                    NumberFunction::Neg => "neg",
                    NumberFunction::Abs => "abs",
                    NumberFunction::Floor => "floor",
                    NumberFunction::Ceil => "ceil",
                    NumberFunction::Log2 => "log2",
                    NumberFunction::Ctz => "ctz",
                };
                self.call(name, &[a])
            }
            NumberExpr::Binary(op, a, b) => {
                let operands = [self.number(a), self.number(b)];
                let name = match op {
                    Arithmetic::Add => "add",
                    Arithmetic::Sub => "sub",
                    Arithmetic::Mul => "mul",
                    Arithmetic::Div => "div",
                    Arithmetic::Rem => "mod",
                    Arithmetic::Min => "min",
                    Arithmetic::Max => "max",
                };
                self.call(name, &operands)
            }
            NumberExpr::If(c, a, b) => {
                let variable = self.variable();
                let (c, a, b) = (self.truth(c), self.number(a), self.number(b));
                (self.words.choose)(&variable, &c, &a, &b, Type::Number)
            }
        }
    }

    fn truth(&mut self, expr: &BoolExpr) -> String {
        match expr {
            BoolExpr::Literal(b) => (self.words.truth)(*b),
            BoolExpr::Not(a) => {
                let a = self.truth(a);
                self.call("not", &[a])
            }
            BoolExpr::And(a, b) | BoolExpr::Or(a, b) => {
                let variable = self.variable();
                let (a, b) = (self.truth(a), self.truth(b));
                (self.words.logic)(&variable, matches!(expr, BoolExpr::And(..)), &a, &b)
            }
            BoolExpr::Compare(op, a, b) => self.compare(*op, a, b),
            BoolExpr::Match { equal, left, right } => {
                let literal = [left, right].into_iter().any(|e| matches!(e, CategoryExpr::Text(_)));
                let operands = [self.category(left), self.category(right)];
                let same = self.call(if literal { "is" } else { "same" }, &operands);
                if *equal { same } else { self.call("not", &[same]) }
            }
            BoolExpr::If(c, a, b) => {
                let variable = self.variable();
                let (c, a, b) = (self.truth(c), self.truth(a), self.truth(b));
                (self.words.choose)(&variable, &c, &a, &b, Type::Bool)
            }
        }
    }

    fn compare(&mut self, op: Comparison, a: &NumberExpr, b: &NumberExpr) -> String {
        if let (NumberExpr::Feature(slot), NumberExpr::Literal(x)) = (a, b)
            && self.lowered.is_whole(*slot)
            && let Some(text) = (self.words.compare)(*slot, op, *x)
        {
            return text;
        }
        let operands = [self.number(a), self.number(b)];
        let name = match op {
            Comparison::Eq => "eq",
            Comparison::Ne => "ne",
            Comparison::Lt => "lt",
            Comparison::Le => "le",
            Comparison::Gt => "gt",
            Comparison::Ge => "ge",
        };
        self.call(name, &operands)
    }

    /// A truth value beside a category, or a feature derived from one, is the category `True` or `False`.
    fn category(&mut self, expr: &CategoryExpr) -> String {
        match expr {
            CategoryExpr::Text(text) => (self.words.text)(text),
            CategoryExpr::Feature(slot) => {
                let printed = (self.words.feature)(*slot);
                let truth = self.lowered.derived_type(*slot) == Some(Type::Bool);
                if truth { self.call("category", &[printed]) } else { printed }
            }
            CategoryExpr::Bool(a) => {
                let printed = self.truth(a);
                self.call("category", &[printed])
            }
            CategoryExpr::If(c, a, b) => {
                let variable = self.variable();
                let (c, a, b) = (self.truth(c), self.category(a), self.category(b));
                (self.words.choose)(&variable, &c, &a, &b, Type::Category)
            }
        }
    }
}
