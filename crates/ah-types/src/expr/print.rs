//! Prints a syntax tree as text of the language; parsing the text gives the same tree.

use std::fmt::{self, Write};

use super::tree::{Binary, COMPARISON, Expr, Unary};

const WORDS: [&str; 8] = ["if", "then", "else", "and", "or", "not", "true", "false"];

const NEG: u8 = 7;

impl fmt::Display for Expr<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_expr(f, self, 0, 0)
    }
}

/// Writes `expr`, in brackets if it binds less tightly than `least`, or if the following operator, of this
/// precedence (0: none), would become part of it.
///
/// Every bracket here is one that any text of the same tree must have, so the text is never nested more deeply
/// than [`parse`](super::parse) allowed.
fn write_expr(f: &mut fmt::Formatter<'_>, expr: &Expr<String>, least: u8, follows: u8) -> fmt::Result {
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
    if brackets {
        f.write_char('(')?;
    }
    match expr {
        Expr::Number(x) => write!(f, "{x}")?,
        Expr::Bool(b) => write!(f, "{b}")?,
        Expr::Text(text) => write_quoted(f, text, '"')?,
        Expr::Feature(name) => write_feature(f, name)?,
        Expr::Unary(Unary::Not, a) => {
            f.write_str("not ")?;
            write_expr(f, a, COMPARISON, follows)?;
        }
        Expr::Unary(Unary::Neg, a) => {
            f.write_char('-')?;
            // `-1` is a number, so the negation of a number needs brackets.
            if matches!(**a, Expr::Number(x) if x.is_sign_positive()) {
                f.write_char('(')?;
                write_expr(f, a, 0, 0)?;
                f.write_char(')')?;
            } else {
                write_expr(f, a, NEG, follows)?;
            }
        }
        Expr::Binary(op, ..) if Binary::FUNCTIONS.contains(op) => {
            write!(f, "{}(", op.symbol())?;
            write_operands(f, *op, expr)?;
            f.write_char(')')?;
        }
        Expr::Binary(op, a, b) => {
            // Comparisons do not chain, so a left operand of the same level needs brackets too.
            let left = if own == COMPARISON { own + 1 } else { own };
            write_expr(f, a, left, own)?;
            write!(f, " {} ", op.symbol())?;
            write_expr(f, b, own + 1, follows)?;
        }
        Expr::If(c, a, b) => {
            f.write_str("if ")?;
            write_expr(f, c, 0, 0)?;
            f.write_str(" then ")?;
            write_expr(f, a, 0, 0)?;
            f.write_str(" else ")?;
            write_expr(f, b, 0, 0)?;
        }
        Expr::Unary(function, a) => {
            write!(f, "{}(", function.symbol())?;
            write_expr(f, a, 0, 0)?;
            f.write_char(')')?;
        }
    }
    if brackets {
        f.write_char(')')?;
    }
    Ok(())
}

/// Writes the operands of a call of `min` or `max`. Calls that are first operands of the same function are written as one.
fn write_operands(f: &mut fmt::Formatter<'_>, op: Binary, expr: &Expr<String>) -> fmt::Result {
    match expr {
        Expr::Binary(own, a, b) if *own == op => {
            write_operands(f, op, a)?;
            f.write_str(", ")?;
            write_expr(f, b, 0, 0)
        }
        first => write_expr(f, first, 0, 0),
    }
}

fn write_feature(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !WORDS.contains(&name)
        && Unary::FUNCTIONS.iter().all(|function| function.symbol() != name)
        && Binary::FUNCTIONS.iter().all(|function| function.symbol() != name);
    if plain { f.write_str(name) } else { write_quoted(f, name, '`') }
}

fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    f.write_char(quote)?;
    for c in text.chars() {
        if c == quote || c == '\\' {
            f.write_char('\\')?;
        }
        f.write_char(c)?;
    }
    f.write_char(quote)
}
