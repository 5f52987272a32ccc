//! Tables, whatever their format, and the text of a cell in a log.

use std::fmt::Write as _;

use ah_model::shown::quoted;
use ah_model::{Error, FeatureKind, RowNumber, Scalar};
use serde_json::Value as Json;

use crate::tools::Defaults;

/// A table, whatever its format: the names of its columns, and its rows, which are read one by one.
pub struct Table {
    pub columns: Vec<String>,
    pub defaults: Defaults,
    pub rows: Box<dyn Iterator<Item = Result<Row, Error>>>,
}

/// A row: a cell a column.
pub struct Row {
    pub number: RowNumber,
    pub cells: Vec<Cell>,
}

/// One cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing, null or NaN.
    Missing,
    /// Text: a number if it reads as one.
    Text(String),
    /// Several values, for example the times of repeated runs.
    List(Vec<Cell>),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        let text = text.trim();
        if is_missing(text) { Self::Missing } else { Self::Text(text.to_owned()) }
    }
}

impl From<Json> for Cell {
    fn from(value: Json) -> Self {
        match value {
            Json::Null => Self::Missing,
            Json::Bool(truth) => Self::Text(Scalar::Bool(truth).category().unwrap_or_default().to_owned()),
            Json::String(text) => text.as_str().into(),
            // A whole number may be longer than an f64 holds.
            Json::Number(number) => Self::Text(match number.as_f64().filter(|_| number.is_f64()) {
                Some(x) => x.to_string(),
                None => number.to_string(),
            }),
            Json::Array(list) => Self::List(list.into_iter().map(Self::from).collect()),
            object => object.to_string().as_str().into(),
        }
    }
}

impl Cell {
    /// Returns the text that the cell holds, if it holds text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Adds the cell's text in a log to `text`: a number in its shortest form, so that `64`, `64.0` and
    /// `6.4e1` are the same; with `verbatim` text as it is. Returns the kind of feature that such a value belongs to.
    ///
    /// # Errors
    /// The value that was expected instead.
    pub fn write(&self, verbatim: bool, text: &mut String) -> Result<FeatureKind, &'static str> {
        let name = match self.as_text().ok_or("a value")? {
            name if verbatim => name,
            "true" | "TRUE" => "True",
            "false" | "FALSE" => "False",
            name => match ah_types::number(name) {
                Some(x) if x.is_infinite() => return Err("a finite number"),
                Some(x) => {
                    let _ = write!(text, "{x}");
                    return Ok(FeatureKind::Numerical);
                }
                None if name.parse::<f64>().is_ok() => {
                    return Err("a number that 64-bit floating point holds exactly (or --categorical)");
                }
                None => name,
            },
        };
        if name.contains(['\n', '\r']) {
            return Err("a name of one line");
        }
        text.push_str(name);
        Ok(FeatureKind::Categorical)
    }

    /// Returns the cell for a message.
    pub fn shown(&self) -> String {
        match self {
            Self::Missing => "nothing".to_owned(),
            Self::List(list) => format!("a list of {}", list.len()),
            Self::Text(text) => quoted(text),
        }
    }
}

/// What to do about a decimal comma.
pub const DECIMAL_COMMA: &str =
    "numbers have a decimal point here; convert a table with semicolons by `tr , . < TABLE > NEW.csv`";

/// Returns whether the text would be a number with a point in place of its only comma.
pub fn has_decimal_comma(text: &str) -> bool {
    text.split_once(',').is_some_and(|(whole, part)| {
        part.starts_with(|c: char| c.is_ascii_digit()) && format!("{whole}.{part}").parse::<f64>().is_ok()
    })
}

/// Returns whether pandas, polars, R, SQL or Python write a missing value in this way.
fn is_missing(text: &str) -> bool {
    text.eq_ignore_ascii_case("nan") || matches!(text, "" | "NA" | "N/A" | "<NA>" | "null" | "NULL" | "None")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_text() {
        let written = |text: &str| {
            let mut out = String::new();
            Cell::from(text).write(false, &mut out).map(|kind| format!("{out} {kind}"))
        };
        for text in ["64", " 64", "64.0", "6.4e1", "064", "+64"] {
            assert_eq!(written(text), Ok("64 numerical".to_owned()), "{text}");
        }
        for (text, expected) in [
            ("-3", "-3 numerical"),
            ("0.1", "0.1 numerical"),
            ("torch.float16", "torch.float16 categorical"),
            ("TRUE", "True categorical"),
            ("1_000", "1_000 categorical"),
        ] {
            assert_eq!(written(text), Ok(expected.to_owned()));
        }
        for text in ["9007199254740993", "1e400", "inf", "", "<NA>", "a\nb"] {
            assert!(written(text).is_err(), "{text}");
        }
        let mut text = String::new();
        assert_eq!(Cell::from("1.10").write(true, &mut text), Ok(FeatureKind::Categorical));
        assert_eq!(text, "1.10");
    }
}
