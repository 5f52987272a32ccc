//! The cells of tables, and the text of a cell in a log.

use std::fmt::Write as _;

use ah_model::shown::quoted;
use ah_model::{FeatureKind, Scalar};
use serde_json::Value as Json;

use crate::number::{self, Decimal};

/// One cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing, null or NaN, and the word for it.
    Missing(&'static str),
    /// Text: a number if it reads as one.
    Text(String),
    /// Text with white space around it, which a log does not have.
    Spaced(String),
    /// A number of JSON, whose point begins the fraction.
    Number(String),
    /// Several values, for example the times of repeated runs.
    List(Vec<Cell>),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        // Windows begins files with a mark, which `cat` leaves inside.
        let whole = text.trim_start_matches('\u{feff}');
        let text = whole.trim();
        match missing(text) {
            Some(word) => Self::Missing(word),
            None if text.len() < whole.len() => Self::Spaced(whole.to_owned()),
            None => Self::Text(text.to_owned()),
        }
    }
}

impl From<Json> for Cell {
    fn from(value: Json) -> Self {
        match value {
            Json::Null => Self::Missing(""),
            Json::Bool(truth) => Self::Text(Scalar::Bool(truth).category().unwrap_or_default().to_owned()),
            Json::String(text) => text.as_str().into(),
            // A whole number may be longer than an f64 holds.
            Json::Number(number) => Self::Number(match number.as_f64().filter(|_| number.is_f64()) {
                Some(x) => x.to_string(),
                None => number.to_string(),
            }),
            Json::Array(list) => Self::List(list.into_iter().map(Self::from).collect()),
            object => object.to_string().as_str().into(),
        }
    }
}

impl Cell {
    /// The text that the cell holds, if it holds text, without white space around it.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Spaced(text) => Some(text.trim()),
            _ => None,
        }
    }

    /// Whether there is no value, as a time or as a number.
    pub fn is_missing(&self) -> bool {
        self.missing_word().is_some()
    }

    /// The word that says that there is no value, empty where there is none.
    pub fn missing_word(&self) -> Option<&'static str> {
        match self {
            Self::Missing(word) => Some(word),
            cell => (cell.as_text() == Some(NONE)).then_some(NONE),
        }
    }

    /// The cell at this place of a list inside lists.
    pub fn at(&self, path: &[usize]) -> &Self {
        path.iter().fold(self, |cell, &at| match cell {
            Self::List(list) => list.get(at).unwrap_or(&Self::Missing("")),
            _ => &Self::Missing(""),
        })
    }

    /// Whether the cell passes a test, or one of the values in its list.
    pub fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        match self {
            Self::List(list) if !list.is_empty() => list.iter().any(|cell| cell.any(test)),
            cell => test(cell),
        }
    }

    /// Adds the cell's text in a log to `text`: a number in one form, so that `64`, `64.0` and
    /// `6.4e1` are the same; with `verbatim` text as it is. Returns the kind of feature that such a value belongs to.
    ///
    /// # Errors
    /// The value that was expected instead.
    pub fn write(
        &self,
        verbatim: bool,
        decimal: Option<Decimal>,
        text: &mut String,
    ) -> Result<FeatureKind, &'static str> {
        let name = self.as_text().ok_or("a value")?;
        if let Some(x) = number::of_feature(name, decimal).filter(|_| !verbatim) {
            if x.is_infinite() {
                return Err("a finite number");
            }
            // Whole numbers with all digits: the shortest form of 2^55 ends with 970 instead of 968.
            let is_whole = x.fract() == 0.0 && x.abs() < 1e19;
            let _ = if is_whole { write!(text, "{x:.0}") } else { write!(text, "{x}") };
            return Ok(FeatureKind::Numerical);
        }
        if !verbatim && name.parse::<f64>().is_ok() {
            return Err("a number that 64-bit floating point holds exactly (or --categorical)");
        }
        if name.contains(['\n', '\r']) {
            return Err("a name of one line");
        }
        text.push_str(name);
        Ok(FeatureKind::Categorical)
    }

    /// The cell for a message.
    pub fn shown(&self) -> String {
        match self {
            Self::Missing(_) => "nothing".to_owned(),
            Self::List(list) => format!("a list of {}", list.len()),
            cell => quoted(cell.as_text().unwrap_or_default()),
        }
    }
}

/// A truth value as a log has it, and other text as it is.
pub fn truth(text: &str) -> &str {
    match text {
        "true" | "TRUE" => "True",
        "false" | "FALSE" => "False",
        text => text,
    }
}

/// Python's text for a value that is missing. As a category it is a name: `activation=None`.
pub const NONE: &str = "None";

/// The word, if pandas, polars, R or SQL write a missing value in this way.
fn missing(text: &str) -> Option<&'static str> {
    const WORDS: [&str; 6] = ["", "NA", "N/A", "<NA>", "null", "NULL"];
    WORDS.into_iter().find(|word| *word == text).or(text.eq_ignore_ascii_case("nan").then_some("NaN"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_text() {
        let written = |text: &str| {
            let mut out = String::new();
            Cell::from(text).write(false, None, &mut out).map(|kind| format!("{out} {kind}"))
        };
        for text in ["64", " 64", "64.0", "6.4e1", "064", "+64"] {
            assert_eq!(written(text), Ok("64 numerical".to_owned()), "{text}");
        }
        for (text, expected) in [
            ("-3", "-3 numerical"),
            ("0.1", "0.1 numerical"),
            ("torch.float16", "torch.float16 categorical"),
            ("TRUE", "TRUE categorical"),
            ("1_000", "1_000 categorical"),
        ] {
            assert_eq!(written(text), Ok(expected.to_owned()));
        }
        for text in ["9007199254740993", "1e400", "inf", "", "<NA>", "a\nb"] {
            assert!(written(text).is_err(), "{text}");
        }
        let mut text = String::new();
        assert_eq!(Cell::from("1.10").write(true, None, &mut text), Ok(FeatureKind::Categorical));
        assert_eq!(text, "1.10");
    }
}
