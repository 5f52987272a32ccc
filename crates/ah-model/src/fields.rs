//! Structured choices: names such as `BLOCK_M=64_num_warps=4`, which list fields. Values in TOML are of the same types.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::context::{Value, bool_name};

/// A value of a field, or in TOML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, a text, true or false")]
pub enum FieldValue {
    /// A whole number, written as Rust would write it.
    Integer(i64),
    /// A number with a decimal point; in TOML also another one.
    Number(f64),
    /// `True` or `False`.
    Truth(bool),
    /// Anything else.
    Text(String),
}

/// The fields of a structured name, `None` for any other.
///
/// A value ends at the first `_`; the text from there to the next `=` is the next key. So keys may contain
/// `_` and values may not.
pub fn fields(name: &str) -> Option<Vec<(String, FieldValue)>> {
    let mut fields: Vec<(String, FieldValue)> = Vec::new();
    let mut rest = Some(name);
    while let Some(field) = rest {
        let (key, value) = field.split_once('=')?;
        let (value, next) = value.split_once('_').map_or((value, None), |(value, next)| (value, Some(next)));
        if key.is_empty() || value.is_empty() || value.contains('=') || fields.iter().any(|(k, _)| k == key) {
            return None;
        }
        fields.push((key.to_owned(), FieldValue::parse(value)));
        rest = next;
    }
    Some(fields)
}

impl FieldValue {
    /// The number, 0 or 1 for a truth value; `None` for a text.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(whole) => Some(*whole as f64),
            Self::Number(x) => Some(*x),
            Self::Truth(truth) => Some(f64::from(u8::from(*truth))),
            Self::Text(_) => None,
        }
    }

    /// The value of a feature: a number, or a category.
    pub fn value(&self) -> Value {
        match self {
            Self::Truth(truth) => Value::from(*truth),
            Self::Text(text) => Value::from(text.as_str()),
            number => Value::from(number.number().unwrap_or(f64::NAN)),
        }
    }

    fn parse(text: &str) -> Self {
        match (text, text.parse::<i64>(), text.parse::<f64>()) {
            ("True" | "False", ..) => Self::Truth(text == "True"),
            (_, Ok(whole), _) if whole.to_string() == text => Self::Integer(whole),
            (.., Ok(number)) if number.is_finite() && text.contains('.') => Self::Number(number),
            _ => Self::Text(text.to_owned()),
        }
    }
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(whole) => write!(f, "{whole}"),
            Self::Number(x) => write!(f, "{x:?}"),
            Self::Truth(truth) => f.write_str(bool_name(*truth)),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_list_fields_are_structured() {
        let of = |name| fields(name).map(|all| all.into_iter().map(|(k, v)| format!("{k}:{v:?}")).collect());
        let some = |all: &[&str]| Some(all.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(of("BLOCK_M=64_num_warps=4"), some(&["BLOCK_M:Integer(64)", "num_warps:Integer(4)"]));
        assert_eq!(
            of("type=cuda_a=0.5_b=True_c=007"),
            some(&["type:Text(\"cuda\")", "a:Number(0.5)", "b:Truth(true)", "c:Text(\"007\")"])
        );
        for name in ["extern_mm", "", "a=", "=1", "a=1_b", "a=1_a=2", "a=b=c", "a=1__"] {
            assert_eq!(fields(name), None, "{name}");
        }
    }
}
