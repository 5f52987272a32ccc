//! Expressions for Python and C as calls of small functions that carry *undefined* along, because
//! the languages' own operators would raise, contract or convert. `and`, `or` and `if` compute only
//! what they need, as the model does.

use std::collections::BTreeSet;

use ah_types::expr::{BinaryOp, Expr, Function, Type, UnaryOp};

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
    pub compare: &'a dyn Fn(usize, BinaryOp, f64) -> Option<String>,
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

/// Prints a typed expression.
pub fn print(
    lowered: &LoweredModel<'_>,
    words: &Words<'_>,
    expr: &Expr<usize>,
    called: &mut Called,
) -> String {
    called.variables = 0;
    Printer { lowered, words, called }.print(expr)
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

    fn print(&mut self, expr: &Expr<usize>) -> String {
        if let Some(operation) = self.lowered.whole_operation(expr)
            && let Some(text) = (self.words.whole)(&operation)
        {
            return text;
        }
        match expr {
            Expr::Number(x) => (self.words.number)(*x),
            Expr::Bool(b) => (self.words.truth)(*b),
            Expr::Text(text) => (self.words.text)(text),
            Expr::Feature(slot) => (self.words.feature)(*slot),
            Expr::Unary(op, a) => {
                let a = self.print(a);
                self.call(if *op == UnaryOp::Neg { "neg" } else { "not" }, &[a])
            }
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let variable = self.variable();
                let (a, b) = (self.print(a), self.print(b));
                (self.words.logic)(&variable, *op == BinaryOp::And, &a, &b)
            }
            Expr::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b)
                if self.lowered.type_of(a) != Type::Number =>
            {
                let literal = matches!(**a, Expr::Text(_)) || matches!(**b, Expr::Text(_));
                let operands = [self.category(a), self.category(b)];
                let equal = self.call(if literal { "is" } else { "same" }, &operands);
                if *op == BinaryOp::Eq { equal } else { self.call("not", &[equal]) }
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::If(c, a, b) => {
                let variable = self.variable();
                let c = self.print(c);
                let ty = self.lowered.type_of(expr);
                let (a, b) = if ty == Type::Category {
                    (self.category(a), self.category(b))
                } else {
                    (self.print(a), self.print(b))
                };
                (self.words.choose)(&variable, &c, &a, &b, ty)
            }
            Expr::Call(function, arguments) => {
                let name = match function {
                    Function::Min => "min",
                    Function::Max => "max",
                    Function::Abs => "abs",
                    Function::Floor => "floor",
                    Function::Ceil => "ceil",
                    Function::Log2 => "log2",
                    Function::Ctz => "ctz",
                };
                let mut numbers: Vec<String> = arguments.iter().map(|a| self.print(a)).collect();
                let mut sum = numbers.remove(0);
                if !function.is_variadic() {
                    return self.call(name, &[sum]);
                }
                for next in numbers {
                    sum = self.call(name, &[sum, next]);
                }
                sum
            }
        }
    }

    /// Arithmetic, or a comparison of numbers.
    fn binary(&mut self, op: BinaryOp, a: &Expr<usize>, b: &Expr<usize>) -> String {
        if let (Expr::Feature(slot), Expr::Number(x)) = (a, b)
            && self.lowered.is_whole(*slot)
            && let Some(text) = (self.words.compare)(*slot, op, *x)
        {
            return text;
        }
        let function = match op {
            BinaryOp::Or => "or",
            BinaryOp::And => "and",
            BinaryOp::Eq => "eq",
            BinaryOp::Ne => "ne",
            BinaryOp::Lt => "lt",
            BinaryOp::Le => "le",
            BinaryOp::Gt => "gt",
            BinaryOp::Ge => "ge",
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::Div => "div",
            BinaryOp::Rem => "mod",
        };
        let operands = [self.print(a), self.print(b)];
        self.call(function, &operands)
    }

    /// A truth value beside a category is the category `True` or `False`.
    fn category(&mut self, expr: &Expr<usize>) -> String {
        let printed = self.print(expr);
        let truth = match expr {
            Expr::Feature(slot) => self.lowered.derived_type(*slot) == Some(Type::Bool),
            _ => self.lowered.type_of(expr) == Type::Bool,
        };
        if truth { self.call("category", &[printed]) } else { printed }
    }
}
