//! Expressions as Rust: numbers are f64 with NaN for undefined, truth values leave the function
//! through `?` where an operand is undefined, as `ah_types::expr` does.

use std::collections::BTreeSet;

use ah_types::FeatureKind;
use ah_types::expr::{
    Arithmetic, BoolExpr, CategoryExpr, Comparison, NumberExpr, NumberFunction, Type, TypedExpr,
};

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
    pub fn body(&mut self, expr: &TypedExpr) -> String {
        match expr {
            TypedExpr::Number(a) => {
                let number = self.number(a);
                self.call("defined", &[number])
            }
            TypedExpr::Bool(a) => self.truth_body(a),
            TypedExpr::Category(a) => some(&unwrapped(self.category(a))),
        }
    }

    /// The body of a function that returns `Option<bool>`.
    pub fn truth_body(&mut self, expr: &BoolExpr) -> String {
        some(&unwrapped(self.truth(expr)))
    }

    fn call(&mut self, helper: &'static str, arguments: &[String]) -> String {
        self.helpers.insert(helper);
        let arguments: Vec<String> = arguments.iter().map(|a| unwrapped(a.clone())).collect();
        format!("{helper}({})", arguments.join(", "))
    }

    fn number(&mut self, expr: &NumberExpr) -> String {
        if let Some(WholeOperation { slot, name, power }) = self.lowered.whole_operation(expr) {
            let feature = &self.identifiers.features[slot];
            self.helpers.insert(name);
            return format!("row.{feature}().{name}({})", power.map_or(String::new(), |p| p.to_string()));
        }
        match expr {
            NumberExpr::Literal(x) => text::number(*x),
            NumberExpr::Feature(slot) => self.feature(*slot),
            NumberExpr::Unary(NumberFunction::Neg, a) => {
                let operand = self.number_operand(a);
                if operand.starts_with('-') { format!("-({operand})") } else { format!("-{operand}") }
            }
            NumberExpr::Unary(NumberFunction::Abs, a) => self.function("abs", a),
            NumberExpr::Unary(NumberFunction::Floor, a) => self.function("floor", a),
            NumberExpr::Unary(NumberFunction::Ceil, a) => self.function("ceil", a),
            NumberExpr::Unary(NumberFunction::Log2, a) => self.function("log2", a),
            NumberExpr::Unary(NumberFunction::Ctz, a) => self.function("ctz", a),
            NumberExpr::Binary(op, a, b) => {
                let (left, right) = (self.number_operand(a), self.number_operand(b));
                match op {
                    Arithmetic::Add => format!("({left} + {right})"),
                    Arithmetic::Sub => format!("({left} - {right})"),
                    Arithmetic::Mul => format!("({left} * {right})"),
                    // The helper makes division by zero undefined; a literal is not zero.
                    Arithmetic::Div if matches!(**b, NumberExpr::Literal(x) if x != 0.0) => {
                        format!("({left} / {right})")
                    }
                    Arithmetic::Div => self.call("divide", &[left, right]),
                    Arithmetic::Rem => self.call("modulo", &[left, right]),
                    Arithmetic::Min => self.call("min", &[left, right]),
                    Arithmetic::Max => self.call("max", &[left, right]),
                }
            }
            NumberExpr::If(c, a, b) => {
                let (c, a, b) = (self.truth(c), self.number(a), self.number(b));
                choose(c, a, b)
            }
        }
    }

    fn function(&mut self, helper: &'static str, operand: &NumberExpr) -> String {
        let operand = self.number(operand);
        self.call(helper, &[operand])
    }

    /// A negative literal takes brackets beside an operator.
    fn number_operand(&mut self, expr: &NumberExpr) -> String {
        match expr {
            NumberExpr::Literal(x) if x.is_sign_negative() => format!("({})", text::number(*x)),
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

    fn truth(&mut self, expr: &BoolExpr) -> String {
        match expr {
            BoolExpr::Literal(b) => b.to_string(),
            BoolExpr::Not(a) => format!("!{}", self.truth(a)),
            // A chain of the same operator needs no brackets.
            BoolExpr::And(a, b) => {
                let left = self.truth(a);
                let left = if matches!(**a, BoolExpr::And(..)) { unwrapped(left) } else { left };
                format!("({left} && {})", self.truth(b))
            }
            BoolExpr::Or(a, b) => {
                let left = self.truth(a);
                let left = if matches!(**a, BoolExpr::Or(..)) { unwrapped(left) } else { left };
                format!("({left} || {})", self.truth(b))
            }
            BoolExpr::Compare(op, a, b) => {
                let helper = match op {
                    Comparison::Eq => "eq",
                    Comparison::Ne => "ne",
                    Comparison::Lt => "lt",
                    Comparison::Le => "le",
                    Comparison::Gt => "gt",
                    Comparison::Ge => "ge",
                };
                let operands = [self.number(a), self.number(b)];
                format!("{}?", self.call(helper, &operands))
            }
            BoolExpr::Match { equal, left, right } => self.matching(*equal, left, right),
            BoolExpr::If(c, a, b) => {
                let (c, a, b) = (self.truth(c), self.truth(a), self.truth(b));
                choose(c, a, b)
            }
        }
    }

    /// `==` or `!=` between categories.
    fn matching(&mut self, equal: bool, a: &CategoryExpr, b: &CategoryExpr) -> String {
        use CategoryExpr::{Feature, Text};
        let symbol = if equal { "==" } else { "!=" };
        let base = self.lowered.model.features.base().len();
        if let (Feature(slot), Text(category)) | (Text(category), Feature(slot)) = (a, b) {
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
        let literal = matches!(a, Text(_)) || matches!(b, Text(_));
        let (left, right) = (self.category(a), self.category(b));
        if literal {
            return format!("({left} {symbol} {right})");
        }
        let same = self.call("same", &[left, right]);
        if equal { format!("{same}?") } else { format!("!{same}?") }
    }

    /// The code of a category.
    fn category(&mut self, expr: &CategoryExpr) -> String {
        let truth = match expr {
            CategoryExpr::Text(category) => return self.lowered.code(category).to_string(),
            CategoryExpr::Feature(slot) => match self.lowered.derived_type(*slot) {
                None => return format!("({} as u16)", self.feature(*slot)),
                Some(Type::Bool) => self.feature(*slot),
                Some(_) => return self.feature(*slot),
            },
            CategoryExpr::Bool(a) => unwrapped(self.truth(a)),
            CategoryExpr::If(c, a, b) => {
                let (c, a, b) = (self.truth(c), self.category(a), self.category(b));
                return choose(c, a, b);
            }
        };
        let (yes, no) = (self.lowered.code("True"), self.lowered.code("False"));
        format!("(if {truth} {{ {yes} }} else {{ {no} }})")
    }
}

fn choose(condition: String, a: String, b: String) -> String {
    format!("(if {} {{ {} }} else {{ {} }})", unwrapped(condition), unwrapped(a), unwrapped(b))
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
