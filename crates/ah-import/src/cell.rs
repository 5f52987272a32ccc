//! One cell of a table, and its text in a log.

use std::fmt::Write as _;

use ah_types::shown::quoted;
use ah_types::{FeatureKind, Scalar};

/// One cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing, null or NaN.
    Missing,
    /// Text of a format without types: a number if it reads as one.
    Untyped(String),
    /// A name, even if it reads as a number.
    Name(String),
    Number(f64),
    /// A truth value.
    Truth(bool),
    /// Several values, for example the times of repeated runs.
    List(Vec<Cell>),
    /// Text to show for anything that is not a value.
    Other(String),
}

impl Cell {
    /// Returns a cell of a format without types.
    pub fn untyped(text: &str) -> Self {
        let text = text.trim();
        if is_missing(text) { Self::Missing } else { Self::Untyped(text.to_owned()) }
    }

    /// Returns a cell of a format with types that holds text.
    pub fn text(text: String) -> Self {
        if is_missing(text.trim()) { Self::Missing } else { Self::Name(text) }
    }

    /// Returns a number; NaN is missing, as in pandas.
    pub fn number(x: f64) -> Self {
        if x.is_nan() { Self::Missing } else { Self::Number(x) }
    }

    /// Returns the text that the cell holds, if it holds text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Untyped(text) | Self::Name(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number that the cell holds, or reads as.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(x) => Some(*x),
            cell => cell.as_text()?.trim().parse().ok(),
        }
    }

    /// Adds the cell's text in a log to `text`: a number in its shortest form, so that `64`, `64.0` and
    /// `6.4e1` are the same; with `verbatim` untyped text as it is. Returns the kind of feature that such a
    /// value belongs to, or `None` if the cell has no single value.
    pub fn write(&self, verbatim: bool, text: &mut String) -> Option<FeatureKind> {
        let name = match self {
            Self::Missing | Self::List(_) | Self::Other(_) => return None,
            Self::Number(x) => {
                let _ = write!(text, "{x}");
                return Some(FeatureKind::Numerical);
            }
            Self::Truth(b) => Scalar::Bool(*b).category().unwrap_or_default(),
            Self::Name(name) => name,
            Self::Untyped(name) if verbatim => name,
            Self::Untyped(name) => match name.as_str() {
                "true" | "TRUE" => "True",
                "false" | "FALSE" => "False",
                name if is_short_integer(name) => {
                    text.push_str(name);
                    return Some(FeatureKind::Numerical);
                }
                name => match name.parse::<f64>() {
                    Ok(x) => return Self::Number(x).write(verbatim, text),
                    Err(_) => name,
                },
            },
        };
        text.push_str(name);
        Some(FeatureKind::Categorical)
    }

    /// Returns the cell for a message.
    pub fn shown(&self) -> String {
        match self {
            Self::Missing => "nothing".to_owned(),
            Self::List(list) => format!("a list of {}", list.len()),
            Self::Other(text) => text.clone(),
            value => {
                let mut text = String::new();
                value.write(true, &mut text);
                quoted(&text)
            }
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

/// Returns whether pandas, polars, R or SQL write a missing value in this way.
fn is_missing(text: &str) -> bool {
    matches!(text, "" | "NaN" | "nan" | "NA" | "N/A" | "<NA>" | "null" | "NULL")
}

/// Returns whether the text is already the shortest form of a whole number that f64 holds exactly.
fn is_short_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (1..=15).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
        && !digits.starts_with('0') | (text == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut out = String::new();
        let kind = Cell::untyped(text).write(false, &mut out);
        format!("{out} {kind:?}")
    }

    #[test]
    fn a_number_has_one_text() {
        for text in ["64", " 64", "64.0", "6.4e1", "064", "+64"] {
            assert_eq!(written(text), "64 Some(Numerical)", "{text}");
        }
        assert_eq!(written("0"), "0 Some(Numerical)");
        assert_eq!(written("-3"), "-3 Some(Numerical)");
        assert_eq!(written("0.1"), "0.1 Some(Numerical)");
        assert_eq!(written("12345678901234567"), "12345678901234568 Some(Numerical)");
    }

    #[test]
    fn names_and_truth_values() {
        assert_eq!(written("torch.float16"), "torch.float16 Some(Categorical)");
        assert_eq!(written("TRUE"), "True Some(Categorical)");
        assert_eq!(written("1_000"), "1_000 Some(Categorical)");
        let mut text = String::new();
        assert_eq!(Cell::untyped("1.10").write(true, &mut text), Some(FeatureKind::Categorical));
        assert_eq!(text, "1.10");
    }

    #[test]
    fn what_stands_for_nothing() {
        for text in ["", " ", "NaN", "NA", "<NA>", "null"] {
            assert_eq!(Cell::untyped(text), Cell::Missing, "{text:?}");
        }
        assert_eq!(Cell::number(f64::NAN), Cell::Missing);
    }
}
