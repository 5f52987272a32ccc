//! Prints a syntax tree as text of the language; parsing the text gives the same tree.

use std::fmt;

use super::parse::parse;
use super::tree::{Binary, COMPARISON, Expr, Unary};

const NEG: u8 = 7;

impl fmt::Display for Expr<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self, 0, 0))
    }
}

/// The text of `expr`, in brackets if it binds less tightly than `least`, or if the following operator, of this
/// precedence (0: none), would become part of it.
///
/// The text has no more words and no deeper nesting than any other text of the same tree, so [`parse`](super::parse) takes it. An
/// `if` at the end needs no brackets, but reads better with them.
fn text(expr: &Expr<String>, least: u8, follows: u8) -> String {
    let own = match expr {
        Expr::If(..) => 0,
        Expr::Binary(op, ..) => op.precedence(),
        Expr::Unary(Unary::Neg, _) => NEG,
        Expr::Number(x) if x.is_sign_negative() => NEG,
        _ => u8::MAX,
    };
    let brackets = match expr {
        // Its operand extends over all operators that bind more tightly.
        Expr::Unary(Unary::Not, _) => follows >= COMPARISON,
        _ => own < least,
    };
    let follows = if brackets { 0 } else { follows };
    let whole = |expr| text(expr, 0, 0);
    let inside = match expr {
        Expr::Number(x) => x.to_string(),
        Expr::Bool(b) => b.to_string(),
        Expr::Text(text) => quoted(text, '"'),
        Expr::Feature(name) => feature(name),
        Expr::Unary(Unary::Not, a) => format!("not {}", text(a, COMPARISON, follows)),
        // `-1` is a number, so the negation of a number needs brackets.
        Expr::Unary(Unary::Neg, a) if matches!(**a, Expr::Number(x) if x.is_sign_positive()) => {
            format!("-({})", whole(a))
        }
        Expr::Unary(Unary::Neg, a) => format!("-{}", text(a, NEG, follows)),
        Expr::Unary(function, a) => format!("{}({})", function.symbol(), whole(a)),
        Expr::Binary(op, ..) if Binary::FUNCTIONS.contains(op) => {
            format!("{}({})", op.symbol(), operands(*op, expr))
        }
        Expr::Binary(op, a, b) => {
            // Comparisons do not chain, so a left operand of the same level needs brackets too.
            let left = if own == COMPARISON { own + 1 } else { own };
            format!("{} {} {}", text(a, left, own), op.symbol(), text(b, own + 1, follows))
        }
        Expr::If(c, a, b) => format!("if {} then {} else {}", whole(c), whole(a), whole(b)),
    };
    if brackets { format!("({inside})") } else { inside }
}

/// The operands of a call of `min` or `max`. Calls that are first operands of the same function are written as one.
fn operands(op: Binary, expr: &Expr<String>) -> String {
    match expr {
        Expr::Binary(own, a, b) if *own == op => format!("{}, {}", operands(op, a), text(b, 0, 0)),
        first => text(first, 0, 0),
    }
}

/// A name, in backquotes unless it reads as a feature without them.
fn feature(name: &str) -> String {
    match parse(name) {
        Ok(Expr::Feature(read)) if read == name => read,
        _ => quoted(name, '`'),
    }
}

fn quoted(text: &str, quote: char) -> String {
    let text = text.replace('\\', r"\\").replace(quote, &format!("\\{quote}"));
    format!("{quote}{text}{quote}")
}
