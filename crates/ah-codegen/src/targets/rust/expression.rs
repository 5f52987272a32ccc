//! Expressions as Rust: numbers are f64 with NaN for undefined, truth values leave the function
//! through `?` where an operand is undefined, as `ah_types::expr` does.

use std::collections::BTreeSet;

use ah_types::FeatureKind;
use ah_types::expr::{BinaryOp, Expr, Function, Type, UnaryOp};

use super::Identifiers;
use crate::lower::{LoweredModel, WholeOperation};
use crate::text;

/// Prints expressions and notes which helpers they call.
pub struct Printer<'a> {
    pub lowered: &'a LoweredModel<'a>,
    pub identifiers: &'a Identifiers,
    pub helpers: BTreeSet<&'static str>,
}

impl Printer<'_> {
    /// The body of a function that returns `Option<f64>`, `Option<bool>` or `Option<u16>`.
    pub fn body(&mut self, expr: &Expr<usize>, ty: Type) -> String {
        match ty {
            Type::Number => {
                let number = self.number(expr);
                self.call("defined", &[number])
            }
            Type::Bool => some(&unwrapped(self.truth(expr))),
            Type::Category => some(&unwrapped(self.category(expr))),
        }
    }

    fn call(&mut self, helper: &'static str, arguments: &[String]) -> String {
        self.helpers.insert(helper);
        let arguments: Vec<String> = arguments.iter().map(|a| unwrapped(a.clone())).collect();
        format!("{helper}({})", arguments.join(", "))
    }

    fn number(&mut self, expr: &Expr<usize>) -> String {
        if let Some(WholeOperation { slot, name, power }) = self.lowered.whole_operation(expr) {
            let feature = &self.identifiers.features[slot];
            self.helpers.insert(name);
            return format!("row.{feature}().{name}({})", power.map_or(String::new(), |p| p.to_string()));
        }
        match expr {
            Expr::Number(x) => text::number(*x),
            Expr::Feature(slot) => self.feature(*slot),
            Expr::Unary(UnaryOp::Neg, a) => {
                let operand = self.number_operand(a);
                if operand.starts_with('-') { format!("-({operand})") } else { format!("-{operand}") }
            }
            Expr::Binary(op, a, b) => {
                let (left, right) = (self.number_operand(a), self.number_operand(b));
                match op {
                    // The helper makes division by zero undefined; a literal is not zero.
                    BinaryOp::Div if !matches!(**b, Expr::Number(x) if x != 0.0) => {
                        self.call("divide", &[left, right])
                    }
                    BinaryOp::Rem => self.call("modulo", &[left, right]),
                    _ => format!("({left} {} {right})", op.symbol()),
                }
            }
            Expr::If(c, a, b) => {
                let (c, a, b) =
                    (unwrapped(self.truth(c)), unwrapped(self.number(a)), unwrapped(self.number(b)));
                format!("(if {c} {{ {a} }} else {{ {b} }})")
            }
            Expr::Call(function, arguments) => {
                let helper = match function {
                    Function::Min => "min",
                    Function::Max => "max",
                    Function::Abs => "abs",
                    Function::Floor => "floor",
                    Function::Ceil => "ceil",
                    Function::Log2 => "log2",
                    Function::Ctz => "ctz",
                };
                let numbers: Vec<String> = arguments.iter().map(|a| self.number(a)).collect();
                let mut numbers = numbers.into_iter();
                let first = numbers.next().unwrap_or_default();
                if !function.is_variadic() {
                    return self.call(helper, &[first]);
                }
                numbers.fold(first, |sum, next| self.call(helper, &[sum, next]))
            }
            // The type checker lets no other kind of expression through.
            _ => "f64::NAN".to_owned(),
        }
    }

    /// A negative literal takes brackets beside an operator.
    fn number_operand(&mut self, expr: &Expr<usize>) -> String {
        match expr {
            Expr::Number(x) if x.is_sign_negative() => format!("({})", text::number(*x)),
            _ => self.number(expr),
        }
    }

    fn feature(&self, slot: usize) -> String {
        let name = &self.identifiers.features[slot];
        match self.lowered.model.features.base().features().get(slot) {
            Some(f) if f.kind == FeatureKind::Categorical => format!("row.{name}()?"),
            Some(f) if f.integer => format!("row.{name}().float()"),
            Some(_) => format!("row.{name}()"),
            None => format!("{name}?"),
        }
    }

    fn truth(&mut self, expr: &Expr<usize>) -> String {
        match expr {
            Expr::Bool(b) => b.to_string(),
            Expr::Unary(UnaryOp::Not, a) => format!("!{}", self.truth(a)),
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let symbol = if *op == BinaryOp::And { "&&" } else { "||" };
                // A chain of the same operator needs no brackets.
                let left = self.truth(a);
                let left =
                    if matches!(&**a, Expr::Binary(o, ..) if o == op) { unwrapped(left) } else { left };
                format!("({left} {symbol} {})", self.truth(b))
            }
            Expr::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) if self.lowered.type_of(a) != Type::Number => {
                self.equality(matches!(expr, Expr::Binary(BinaryOp::Eq, ..)), a, b)
            }
            Expr::Binary(op, a, b) => {
                let helper = match op {
                    BinaryOp::Eq => "eq",
                    BinaryOp::Ne => "ne",
                    BinaryOp::Lt => "lt",
                    BinaryOp::Le => "le",
                    BinaryOp::Gt => "gt",
                    _ => "ge",
                };
                let operands = [self.number(a), self.number(b)];
                format!("{}?", self.call(helper, &operands))
            }
            Expr::If(c, a, b) => {
                let (c, a, b) =
                    (unwrapped(self.truth(c)), unwrapped(self.truth(a)), unwrapped(self.truth(b)));
                format!("(if {c} {{ {a} }} else {{ {b} }})")
            }
            _ => "false".to_owned(),
        }
    }

    /// `==` or `!=` between categories and truth values.
    fn equality(&mut self, equal: bool, a: &Expr<usize>, b: &Expr<usize>) -> String {
        let symbol = if equal { "==" } else { "!=" };
        let base = self.lowered.model.features.base().len();
        if let (Expr::Feature(slot), Expr::Text(category)) | (Expr::Text(category), Expr::Feature(slot)) =
            (a, b)
        {
            let value = self.feature(*slot);
            if *slot < base {
                return format!(
                    "({value} {symbol} {})",
                    self.identifiers.variant(self.lowered, *slot, category)
                );
            }
            if self.lowered.derived_type(*slot) == Some(Type::Bool) {
                return match (category.as_str(), equal) {
                    ("True", true) | ("False", false) => value,
                    ("True", false) | ("False", true) => format!("!{value}"),
                    // Its value is needed, for it may be undefined, and is never this.
                    (_, equal) => format!("(u16::from({value}) {} 2)", if equal { "==" } else { "!=" }),
                };
            }
        }
        let literal = matches!(a, Expr::Text(_)) || matches!(b, Expr::Text(_));
        let (left, right) = (self.category(a), self.category(b));
        if literal {
            return format!("({left} {symbol} {right})");
        }
        let same = self.call("same", &[left, right]);
        if equal { format!("{same}?") } else { format!("!{same}?") }
    }

    /// The code of a category.
    fn category(&mut self, expr: &Expr<usize>) -> String {
        match expr {
            Expr::Text(category) => self.lowered.code(category).to_string(),
            Expr::Feature(slot) if *slot < self.lowered.model.features.base().len() => {
                format!("({} as u16)", self.feature(*slot))
            }
            Expr::Feature(slot) if self.lowered.derived_type(*slot) == Some(Type::Category) => {
                self.feature(*slot)
            }
            Expr::If(c, a, b) if self.lowered.type_of(expr) == Type::Category => {
                let (c, a, b) =
                    (unwrapped(self.truth(c)), unwrapped(self.category(a)), unwrapped(self.category(b)));
                format!("(if {c} {{ {a} }} else {{ {b} }})")
            }
            _ => {
                let truth = match expr {
                    Expr::Feature(slot) => self.feature(*slot),
                    _ => unwrapped(self.truth(expr)),
                };
                let (yes, no) = (self.lowered.code("True"), self.lowered.code("False"));
                format!("(if {truth} {{ {yes} }} else {{ {no} }})")
            }
        }
    }
}

/// `Some(value)`, or the option itself where the value is one unwrapped.
fn some(value: &str) -> String {
    match value.strip_suffix('?') {
        Some(option) if is_one_term(option) => option.to_owned(),
        _ => format!("Some({value})"),
    }
}

/// A name, a path or one call.
fn is_one_term(text: &str) -> bool {
    let mut depth = 0_i32;
    for (i, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        let word = c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':');
        if depth == 0 && !word && !(c == ')' && i + 1 == text.len()) {
            return false;
        }
    }
    true
}

/// Without the brackets that enclose all of it.
fn unwrapped(text: String) -> String {
    let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) else { return text };
    // Literals hold brackets only inside identifiers' places: never, so that counting suffices.
    let mut depth = 0_i32;
    for c in inner.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth < 0 {
            return text;
        }
    }
    inner.to_owned()
}
