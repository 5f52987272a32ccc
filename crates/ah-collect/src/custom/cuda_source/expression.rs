//! Expressions over the features of an input and the compile-time parameters of a choice.
//!
//! The language is that of derived features ([`ah_model::expr`]).

use ah_model::expr::{self, Expr, Type};
use ah_model::{Schema, Value};
use serde_json::Value as Json;

/// An expression that computes a number.
#[derive(Debug)]
pub(super) struct NumberExpression {
    /// The key that it belongs to, for messages.
    key: String,
    expression: Expr,
}

impl NumberExpression {
    /// Reads the value of `key`: a number, or an expression over the features and parameters of `schema`.
    pub(super) fn new(key: &str, value: &Json, schema: &Schema) -> Result<Self, String> {
        let wrong = |message: String| format!("{key}: {message}");
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
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
