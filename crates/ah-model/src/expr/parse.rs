//! Parses text to a syntax tree: a lexer and a precedence-climbing parser.

use std::fmt::Display;

use super::tree::{Binary, COMPARISON, Expr, Unary};
use crate::fault::Invalid;
use crate::shown;

/// Deeper nesting is refused, so that no text can overflow the stack.
const MAX_NESTING: usize = 128;
/// Longer expressions are refused: consecutive operators nest to the left without recursion here, but code that walks the
/// tree recurses. A level of the tree takes two words, or is nested. Brackets are no words, because printing may add some.
const MAX_WORDS: usize = 8 * MAX_NESTING;

/// Parses an expression. See [the module](super) for the language.
///
/// # Errors
/// [`Invalid`] with the place, what was expected and what was found.
pub fn parse(source: &str) -> Result<Expr<String>, Invalid> {
    let mut parser = Parser { source, tokens: lex(source)?, next: 0, nesting: 0 };
    let tree = parser.expr()?;
    if *parser.peek() == Token::End { Ok(tree) } else { Err(parser.expected("an operator or the end")) }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Text(String),
    Name(String),
    Quoted(String),
    Symbol(&'static str),
    End,
}

/// The error at a byte of an expression. Columns are characters, counted from 1.
fn error(source: &str, byte: usize, expected: impl Display, found: impl Display) -> Invalid {
    let column = source[..byte].chars().count() + 1;
    let whole = shown::expression(source);
    Invalid(format!("column {column}: expected {expected}, found {found} in the expression {whole}"))
}

const SYMBOLS: [&str; 14] = ["==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ","];

fn lex(source: &str) -> Result<Vec<(usize, Token)>, Invalid> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(c) = rest.chars().next() {
        let at = source.len() - rest.len();
        let (token, length) = if c.is_ascii_digit()
            || (c == '.' && rest[1..].starts_with(|d: char| d.is_ascii_digit()))
        {
            let length = number_length(rest);
            let value = rest[..length].parse::<f64>().ok().filter(|x| x.is_finite());
            let found = || error(source, at, "a number that an f64 holds", shown::quoted(&rest[..length]));
            (Token::Number(value.ok_or_else(found)?), length)
        } else if c.is_ascii_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Token::Name(rest[..length].to_owned()), length)
        } else if c == '"' || c == '`' {
            let (text, length) = quoted(rest, c)
                .ok_or_else(|| error(source, at, format!("a closing {c}"), "the end of the expression"))?;
            (if c == '"' { Token::Text(text) } else { Token::Quoted(text) }, length)
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            return Err(error(source, at, "a number, text, feature, operator or bracket", format!("{c:?}")));
        };
        tokens.push((at, token));
        rest = rest[length..].trim_start();
    }
    let words = tokens.iter().filter(|(_, token)| !matches!(token, Token::Symbol("(" | ")")));
    if let Some((at, _)) = words.clone().nth(MAX_WORDS) {
        let expected = format!("no more than {MAX_WORDS} words and symbols");
        return Err(error(source, *at, expected, words.count()));
    }
    tokens.push((source.len(), Token::End));
    Ok(tokens)
}

/// The length of what looks like a number.
fn number_length(rest: &str) -> usize {
    let is_sign = |at: usize, c: char| matches!(c, '+' | '-') && rest[..at].ends_with(['e', 'E']);
    let is_part = |&(at, c): &(usize, char)| c.is_ascii_alphanumeric() || c == '.' || is_sign(at, c);
    rest.char_indices().take_while(is_part).count()
}

/// The text between two `quote`s, and its length including them; a backslash escapes the next
/// character.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        match c {
            _ if c == quote => return Some((text, i + 1)),
            '\\' => text.push(chars.next()?.1),
            _ => text.push(c),
        }
    }
    None
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<(usize, Token)>,
    next: usize,
    nesting: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].1
    }

    /// The next name or symbol; empty for another token.
    fn word(&self) -> &str {
        match self.peek() {
            Token::Name(name) => name,
            Token::Symbol(symbol) => symbol,
            _ => "",
        }
    }

    fn expected(&self, what: &str) -> Invalid {
        let (at, token) = &self.tokens[self.next];
        let found = match token {
            Token::Number(x) => format!("the number {x}"),
            Token::Text(s) => format!("the text {}", shown::quoted(s)),
            Token::Name(s) | Token::Quoted(s) => shown::quoted(s),
            Token::Symbol(s) => format!("{s:?}"),
            Token::End => "the end".to_owned(),
        };
        error(self.source, *at, what, found)
    }

    fn take(&mut self, word: &str) -> bool {
        let matches = self.word() == word;
        self.next += usize::from(matches);
        matches
    }

    fn expect(&mut self, word: &str) -> Result<(), Invalid> {
        if self.take(word) { Ok(()) } else { Err(self.expected(&format!("{word:?}"))) }
    }

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Invalid>) -> Result<T, Invalid> {
        if self.nesting == MAX_NESTING {
            return Err(self.expected(&format!("no more than {MAX_NESTING} nested levels")));
        }
        self.nesting += 1;
        let result = f(self);
        self.nesting -= 1;
        result
    }

    fn leaf(&mut self, expr: Expr<String>) -> Expr<String> {
        self.next += 1;
        expr
    }

    fn expr(&mut self) -> Result<Expr<String>, Invalid> {
        self.nested(|p| p.binary(1))
    }

    /// Parses operands joined by operators that bind at least as tightly as `least`.
    fn binary(&mut self, least: u8) -> Result<Expr<String>, Invalid> {
        let mut left = self.unary()?;
        while let Some(op) = Binary::operator(self.word()) {
            let precedence = op.precedence();
            if precedence < least {
                break;
            }
            self.next += 1;
            let right = self.nested(|p| p.binary(precedence + 1))?;
            left = Expr::binary(op, left, right);
            let next = Binary::operator(self.word());
            if precedence == COMPARISON && next.is_some_and(|next| next.precedence() == precedence) {
                return Err(self.expected("`and` or `or` (comparisons do not chain)"));
            }
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr<String>, Invalid> {
        if self.take("not") {
            // `not a == b` is `not (a == b)`.
            let operand = self.nested(|p| p.binary(COMPARISON))?;
            return Ok(Expr::Unary(Unary::Not, operand.into()));
        }
        if self.take("-") {
            // A minus directly before digits belongs to the number.
            if let Token::Number(x) = *self.peek() {
                return Ok(self.leaf(Expr::Number(-x)));
            }
            let operand = self.nested(Self::unary)?;
            return Ok(Expr::Unary(Unary::Neg, operand.into()));
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expr<String>, Invalid> {
        const WHAT: &str = "a number, text, feature or bracket";
        match self.peek().clone() {
            Token::Number(x) => Ok(self.leaf(Expr::Number(x))),
            Token::Text(text) => Ok(self.leaf(Expr::Text(text))),
            Token::Quoted(name) => Ok(self.leaf(Expr::Feature(name))),
            Token::Symbol("(") => {
                self.next += 1;
                let inner = self.expr()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Name(name) => match name.as_str() {
                "true" | "false" => Ok(self.leaf(Expr::Bool(name == "true"))),
                "if" => {
                    self.next += 1;
                    let condition = self.expr()?;
                    self.expect("then")?;
                    let yes = self.expr()?;
                    self.expect("else")?;
                    Ok(Expr::If(condition.into(), yes.into(), self.expr()?.into()))
                }
                "and" | "or" | "not" | "then" | "else" => Err(self.expected(WHAT)),
                _ => {
                    let feature = self.leaf(Expr::Feature(name.clone()));
                    let unary = Unary::FUNCTIONS.into_iter().find(|op| op.symbol() == name);
                    let binary = Binary::FUNCTIONS.into_iter().find(|op| op.symbol() == name);
                    if unary.is_none() && binary.is_none() || !self.take("(") {
                        return Ok(feature);
                    }
                    let mut result = self.expr()?;
                    if let Some(op) = unary {
                        if self.take(",") {
                            return Err(self.expected(&format!("one operand for {name}")));
                        }
                        result = Expr::Unary(op, result.into());
                    } else if *self.peek() == Token::Symbol(")") {
                        return Err(self.expected(&format!("two or more operands for {name}")));
                    }
                    while let Some(op) = binary.filter(|_| self.take(",")) {
                        result = Expr::binary(op, result, self.expr()?);
                    }
                    self.expect(")")?;
                    Ok(result)
                }
            },
            _ => Err(self.expected(WHAT)),
        }
    }
}
