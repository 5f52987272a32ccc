//! Expressions over the features of an input and the compile-time parameters of a choice, and mistakes in a TOML file, each with its
//! place.
//!
//! The language is that of derived features ([`ah_model::expr`]).

use std::ops::Range;

use ah_model::expr::{self, Expr, Type};
use ah_model::{Precondition, Schema, Value};
use toml::Spanned;

/// A value of the TOML file with its place.
pub(super) type Located = Spanned<toml::Value>;

/// An expression that computes a number.
#[derive(Debug)]
pub(super) struct NumberExpression {
    /// The key that it belongs to, for messages.
    key: String,
    expression: Expr,
}

impl NumberExpression {
    /// Reads the value of `key`: a number, or an expression over the features and parameters of `schema`.
    pub(super) fn new(key: &str, value: &Located, schema: &Schema) -> Result<Self, Mistake> {
        let wrong = |message: String| Mistake::at(value.span(), format!("{key}: {message}"));
        let text = match value.get_ref() {
            toml::Value::Integer(x) => x.to_string(),
            toml::Value::Float(x) if x.is_finite() => x.to_string(),
            toml::Value::String(text) => text.clone(),
            other => {
                return Err(wrong(format!(
                    "expected a number or an expression, found a value of type {}",
                    other.type_str()
                )));
            }
        };
        let expression = expr::parse(&text).and_then(|parsed| parsed.resolve(schema));
        let expression = expression.map_err(|e| wrong(e.to_string()))?;
        if expression.ty() != Type::Number {
            return Err(wrong(format!("expected an expression that computes a number, found {text:?}")));
        }
        Ok(Self { key: key.to_owned(), expression })
    }

    pub(super) fn number(&self, row: &[Value]) -> Result<f64, String> {
        let number = self.expression.number(row);
        if number.is_finite() { Ok(number) } else { Err(format!("{} is undefined here", self.key)) }
    }

    /// The whole number in this row.
    pub(super) fn whole(&self, row: &[Value], least: u32, most: u64) -> Result<u64, String> {
        let number = self.number(row)?;
        if number.fract() == 0.0 && number >= f64::from(least) && number <= most as f64 {
            Ok(number as u64)
        } else {
            let hint = if number.fract() == 0.0 { "" } else { "; round with ceil() or floor()" };
            Err(format!("{} is {number}, expected a whole number from {least} to {most}{hint}", self.key))
        }
    }
}

/// Reads a condition over the features and parameters of `schema`.
pub(super) fn condition(key: &str, value: &Located, schema: &Schema) -> Result<Precondition, Mistake> {
    let wrong = |message: String| Mistake::at(value.span(), format!("{key}: {message}"));
    let text = value.get_ref().as_str();
    let text = text.ok_or_else(|| wrong("expected an expression in quotes".to_owned()))?;
    Precondition::new(text, schema).map_err(|e| wrong(e.to_string()))
}

/// A mistake in a TOML file.
#[derive(Debug)]
pub(in crate::custom) struct Mistake {
    /// The first byte of the value, if known.
    at: Option<usize>,
    message: String,
}

impl Mistake {
    /// A mistake in the value at these bytes.
    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { at: Some(span.start), message: message.into() }
    }

    /// A mistake in the table as a whole.
    pub(super) fn anywhere(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into() }
    }

    /// The message with its line in `text`.
    pub(in crate::custom) fn shown(&self, text: &str) -> String {
        let line =
            |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1;
        match self.at {
            Some(at) => format!("line {}: {}", line(at), self.message),
            None => self.message.clone(),
        }
    }
}
