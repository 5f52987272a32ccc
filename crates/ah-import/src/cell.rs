//! One cell of a table, and its text in a log.

use std::fmt::Write as _;

use ah_types::shown::quoted;
use ah_types::{FeatureKind, Scalar};

/// One cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing, null or NaN.
    Missing,
    /// Text: a number if it reads as one.
    Text(String),
    /// A number of a format with types.
    Number(f64),
    /// A truth value.
    Truth(bool),
    /// Several values, for example the times of repeated runs.
    List(Vec<Cell>),
}

impl Cell {
    /// Returns the cell of a text.
    pub fn text(text: &str) -> Self {
        let text = text.trim();
        if is_missing(text) { Self::Missing } else { Self::Text(text.to_owned()) }
    }

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
        let name = match self {
            Self::Missing | Self::List(_) => return Err("a value"),
            Self::Number(x) => return write_number(*x, text),
            Self::Truth(b) => Scalar::Bool(*b).category().unwrap_or_default(),
            Self::Text(name) if verbatim => name,
            Self::Text(name) => match name.as_str() {
                "true" | "TRUE" => "True",
                "false" | "FALSE" => "False",
                name => match ah_types::number(name) {
                    Some(x) => return write_number(x, text),
                    None if name.parse::<f64>().is_ok() => {
                        return Err("a number that 64-bit floating point holds exactly (or --categorical)");
                    }
                    None => name,
                },
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
            Self::Number(x) => quoted(&x.to_string()),
            Self::Truth(b) => quoted(&b.to_string()),
        }
    }
}

fn write_number(x: f64, text: &mut String) -> Result<FeatureKind, &'static str> {
    if x.is_infinite() {
        return Err("a finite number");
    }
    let _ = write!(text, "{x}");
    Ok(FeatureKind::Numerical)
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
            Cell::text(text).write(false, &mut out).map(|kind| format!("{out} {kind}"))
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
        assert_eq!(Cell::text("1.10").write(true, &mut text), Ok(FeatureKind::Categorical));
        assert_eq!(text, "1.10");
    }
}
