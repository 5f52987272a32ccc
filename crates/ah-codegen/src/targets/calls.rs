//! Expressions as calls of small functions that carry *undefined* along: for Python and C, whose
//! own operators would raise, contract or convert. Expressions have no effects, so operands may be
//! computed eagerly; the functions drop what the language would not have looked at.

use std::collections::BTreeSet;

use ah_types::expr::{BinaryOp, Expr, Function, Type, UnaryOp};

use crate::lower::Plan;

/// How a language writes the leaves of an expression.
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
}

/// The functions that an expression calls.
pub type Called = BTreeSet<&'static str>;

/// Prints a typed expression.
pub fn print(plan: &Plan<'_>, words: &Words<'_>, expr: &Expr<usize>, called: &mut Called) -> String {
    Printer { plan, words, called }.print(expr)
}

struct Printer<'a, 'w> {
    plan: &'a Plan<'a>,
    words: &'a Words<'w>,
    called: &'a mut Called,
}

impl Printer<'_, '_> {
    fn call(&mut self, function: &'static str, arguments: &[String]) -> String {
        self.called.insert(function);
        format!("{}{function}({})", self.words.prefix, arguments.join(", "))
    }

    fn print(&mut self, expr: &Expr<usize>) -> String {
        match expr {
            Expr::Number(x) => (self.words.number)(*x),
            Expr::Bool(b) => (self.words.truth)(*b),
            Expr::Text(text) => (self.words.text)(text),
            Expr::Feature(slot) => (self.words.feature)(*slot),
            Expr::Unary(op, a) => {
                let a = self.print(a);
                self.call(if *op == UnaryOp::Neg { "neg" } else { "not" }, &[a])
            }
            Expr::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b)
                if self.plan.type_of(a) != Type::Number =>
            {
                let literal = matches!(**a, Expr::Text(_)) || matches!(**b, Expr::Text(_));
                let operands = [self.category(a), self.category(b)];
                let equal = self.call(if literal { "is" } else { "same" }, &operands);
                if *op == BinaryOp::Eq { equal } else { self.call("not", &[equal]) }
            }
            Expr::Binary(op, a, b) => {
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
            Expr::If(c, a, b) => {
                let function = match self.plan.type_of(expr) {
                    Type::Number => "if_number",
                    Type::Bool => "if_truth",
                    Type::Category => "if_category",
                };
                let category = function == "if_category";
                let c = self.print(c);
                let (a, b) = if category {
                    (self.category(a), self.category(b))
                } else {
                    (self.print(a), self.print(b))
                };
                self.call(function, &[c, a, b])
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

    /// A truth value beside a category is the category `True` or `False`.
    fn category(&mut self, expr: &Expr<usize>) -> String {
        let printed = self.print(expr);
        let truth = match expr {
            Expr::Feature(slot) => self.plan.derived_type(*slot) == Some(Type::Bool),
            _ => self.plan.type_of(expr) == Type::Bool,
        };
        if truth { self.call("category", &[printed]) } else { printed }
    }
}
