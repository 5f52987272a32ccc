//! A printed expression that knows where it needs brackets.

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

/// A printed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    text: String,
    binds: Binds,
}

impl Code {
    /// Returns an expression with an outermost operator of this precedence.
    pub fn new(binds: Binds, text: impl Into<String>) -> Self {
        Self { text: text.into(), binds }
    }

    /// Returns a literal, a name or a call.
    pub fn atom(text: impl Into<String>) -> Self {
        Self::new(Binds::Atom, text)
    }

    /// Returns a literal: a negative one binds like a sign.
    pub fn literal(text: String) -> Self {
        let binds = if text.starts_with('-') { Binds::Sign } else { Binds::Atom };
        Self { text, binds }
    }

    /// Returns true for one word.
    pub fn is_name(&self) -> bool {
        let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
        self.text.chars().all(is_part) && !self.text.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Returns a call of `function`.
    pub fn call(function: &str, arguments: impl IntoIterator<Item = Self>) -> Self {
        let arguments: Vec<String> = arguments.into_iter().map(|a| a.text).collect();
        Self::atom(format!("{function}({})", arguments.join(", ")))
    }

    /// Returns an operator that groups to the left, with its operands.
    pub fn binary(binds: Binds, left: Self, operator: &str, right: Self) -> Self {
        Self::new(binds, format!("{} {operator} {}", left.at_least(binds), right.above(binds)))
    }

    /// Returns the text, in brackets if its operator binds less tightly.
    pub fn at_least(self, binds: Binds) -> String {
        if self.binds < binds { format!("({})", self.text) } else { self.text }
    }

    /// Returns the text, in brackets unless its operator binds more tightly.
    pub fn above(self, binds: Binds) -> String {
        if self.binds <= binds { format!("({})", self.text) } else { self.text }
    }

    /// Returns the text for a place without neighbouring operators.
    pub fn alone(self) -> String {
        self.text
    }

    /// Returns the expression before a final `?` of Rust, if that is outermost.
    pub fn before_question_mark(&self) -> Option<&str> {
        self.text.strip_suffix('?').filter(|_| self.binds == Binds::Atom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_only_where_they_change_the_meaning() {
        let [a, b, c] = ["a", "b", "c"].map(Code::atom);
        let sum = Code::binary(Binds::Sum, a.clone(), "-", b.clone());
        let left = Code::binary(Binds::Sum, sum.clone(), "-", c.clone());
        let right = Code::binary(Binds::Sum, c.clone(), "-", sum.clone());
        let product = Code::binary(Binds::Product, sum.clone(), "*", Code::literal("-1.0".to_owned()));
        assert_eq!([left, right, product].map(Code::alone), ["a - b - c", "c - (a - b)", "(a - b) * -1.0"]);
        assert_eq!(Code::call("f", [sum]).alone(), "f(a - b)");
        assert_eq!(Code::literal("-1.0".to_owned()).at_least(Binds::Atom), "(-1.0)");
        let chosen = Code::new(Binds::Choice, "if a { b } else { c }");
        assert_eq!(chosen.at_least(Binds::Or), "(if a { b } else { c })");
    }
}
