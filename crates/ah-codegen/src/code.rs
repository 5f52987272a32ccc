//! A printed expression that knows where it needs brackets and which variables it reads.

use std::collections::BTreeSet;

/// How tightly the outermost operator of an expression binds, loosest first. Languages have different
/// operators, but all in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binds {
    /// `if … else`, `? :`
    Choice,
    /// `or`, `||`
    Or,
    /// `and`, `&&`
    And,
    /// `==`, `<`
    Comparison,
    /// `+ -`
    Sum,
    /// `* / %`
    Product,
    /// Rust's `as`
    Cast,
    /// `-x`, `!x`
    Sign,
    /// A literal, a name or a call.
    Atom,
}

/// How a language writes an operation: the text with `$0`, `$1`, … for the operands, how tightly it binds, and how tightly its operands
/// must bind.
#[derive(Clone, Copy)]
pub struct Form(pub &'static str, pub Binds, pub Binds);

impl Form {
    /// The operation on these operands.
    pub fn with(self, operands: &[&Code]) -> Code {
        let Self(pattern, binds, least) = self;
        let mut parts = pattern.split('$');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let at = usize::from(part.as_bytes()[0] - b'0');
            text += &(operands[at].at_least(least) + &part[1..]);
        }
        Code::new(binds, text).reading(operands)
    }
}

/// A printed expression.
#[derive(Clone, Debug)]
pub struct Code {
    pub text: String,
    pub binds: Binds,
    /// The variables that it reads, and the helpers that it calls, with `()`.
    pub reads: BTreeSet<String>,
    /// It is a product, which a compiler must not fuse with a sum.
    pub is_product: bool,
    /// It is an integer of the language.
    pub is_integer: bool,
    /// Its negation, where that is shorter than `not` before it.
    pub opposite: Option<Box<Self>>,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Code {
    /// An expression with an outermost operator of this precedence.
    pub fn new(binds: Binds, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text, binds, reads: BTreeSet::new(), is_product: false, is_integer: false, opposite: None }
    }

    /// A literal, a name or a call.
    pub fn atom(text: impl Into<String>) -> Self {
        Self::new(Binds::Atom, text)
    }

    /// A variable.
    pub fn variable(name: &str) -> Self {
        Self { reads: BTreeSet::from([name.to_owned()]), ..Self::atom(name) }
    }

    /// True for a variable.
    pub fn is_variable(&self) -> bool {
        self.reads.contains(&self.text)
    }

    /// A literal: a negative one binds like a sign.
    pub fn literal(text: String) -> Self {
        Self::new(if text.starts_with('-') { Binds::Sign } else { Binds::Atom }, text)
    }

    /// This with its negation.
    pub fn or_else(self, opposite: Self) -> Self {
        let this = Self { opposite: None, ..self.clone() };
        let opposite = Self { opposite: Some(Box::new(this)), ..opposite };
        Self { opposite: Some(Box::new(opposite)), ..self }
    }

    /// This with the variables of its operands.
    pub fn reading(mut self, operands: &[&Self]) -> Self {
        operands.iter().for_each(|operand| self.reads.extend(operand.reads.iter().cloned()));
        self
    }

    /// This with a helper of the file, which it calls.
    pub fn calling(mut self, helper: &str) -> Self {
        self.reads.insert(format!("{helper}()"));
        self
    }

    /// A call of `function`.
    pub fn call(function: &str, arguments: &[&Self]) -> Self {
        let texts: Vec<&str> = arguments.iter().map(|a| a.text.as_str()).collect();
        let code = Self::atom(format!("{function}({})", texts.join(", "))).reading(arguments);
        if function.starts_with("math.") { code.calling("math") } else { code }
    }

    /// An operator that groups to the left, with its operands.
    pub fn binary(binds: Binds, left: &Self, operator: &str, right: &Self) -> Self {
        let text = format!("{} {operator} {}", left.at_least(binds), right.above(binds));
        Self::new(binds, text).reading(&[left, right])
    }

    /// This in brackets.
    pub fn bracketed(self) -> Self {
        Self { text: format!("({})", self.text), binds: Binds::Atom, opposite: None, ..self }
    }

    /// The text, in brackets if its operator binds less tightly.
    pub fn at_least(&self, binds: Binds) -> String {
        if self.binds < binds { format!("({})", self.text) } else { self.text.clone() }
    }

    /// The text, in brackets unless its operator binds more tightly.
    pub fn above(&self, binds: Binds) -> String {
        if self.binds <= binds { format!("({})", self.text) } else { self.text.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_only_where_they_change_the_meaning() {
        let [a, b, c] = ["a", "b", "c"].map(Code::atom);
        let sum = Code::binary(Binds::Sum, &a, "-", &b);
        let left = Code::binary(Binds::Sum, &sum, "-", &c);
        let right = Code::binary(Binds::Sum, &c, "-", &sum);
        let product = Code::binary(Binds::Product, &sum, "*", &Code::literal("-1.0".to_owned()));
        assert_eq!(
            [left, right, product].map(|code| code.text),
            ["a - b - c", "c - (a - b)", "(a - b) * -1.0"]
        );
        assert_eq!(Code::call("f", &[&sum]).text, "f(a - b)");
        assert_eq!(Code::literal("-1.0".to_owned()).at_least(Binds::Atom), "(-1.0)");
    }
}
