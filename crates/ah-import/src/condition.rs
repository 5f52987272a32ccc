//! `--where` and `--failed-where`: conditions on the cells of one column.

use ah_model::Error;
use ah_model::shown::{listed, quoted};
use indexmap::IndexSet;
use regex::Regex;

use crate::cell::Cell;
use crate::column::Column;

/// So many values of a column are kept for a message.
const MOST_SHOWN: usize = 16;

/// `COLUMN=VALUE` or `COLUMN!=VALUE`, in which `*` stands for any text.
#[derive(Clone, Debug)]
pub struct Condition {
    pub column: Column,
    negated: bool,
    value: Value,
    /// The condition as the user wrote it.
    pub text: String,
}

/// The cells of a condition's column so far.
#[derive(Clone, Debug, Default)]
pub struct SeenValues {
    /// Whether one has the condition's value.
    pub is_found: bool,
    /// The first other values.
    values: IndexSet<String>,
}

impl SeenValues {
    /// Sees the cell of a row.
    pub fn see(&mut self, condition: &Condition, cells: &[Cell]) {
        if !self.is_found {
            let cell = condition.column.cell(cells);
            self.is_found = condition.names(cell);
            if self.values.len() < MOST_SHOWN {
                self.values.insert(cell.shown());
            }
        }
    }

    /// Returns a sentence about the condition `text`, whose value no row has.
    pub fn unfound(&self, text: &str) -> String {
        format!(
            "no row has {}; its column has {}",
            quoted(&text.replacen("!=", "=", 1)),
            listed(&self.values)
        )
    }
}

/// Splits a condition into the column, whether it is negated, and the value.
pub fn parse<'a>(field: &'static str, text: &'a str) -> Result<(&'a str, bool, &'a str), Error> {
    let negated = text.find("!=").filter(|at| text.find('=') == Some(at + 1));
    let parts = match negated {
        Some(at) => Some((&text[..at], true, &text[at + 2..])),
        None => text.split_once('=').map(|(column, value)| (column, false, value)),
    };
    let parts = parts.filter(|(column, ..)| !column.is_empty());
    parts.ok_or_else(|| Error::parameter(field, "COLUMN=VALUE or COLUMN!=VALUE", quoted(text)))
}

impl Condition {
    /// Returns the condition `text` on this column.
    pub fn new(field: &'static str, text: &str, column: Column) -> Result<Self, Error> {
        let (_, negated, value) = parse(field, text)?;
        let value = Value::new(value.trim())
            .map_err(|why| Error::parameter(field, "a value of fewer characters", why))?;
        Ok(Self { column, negated, value, text: text.to_owned() })
    }

    /// Returns whether a cell fulfils the condition; of a list, whether one of its values does.
    pub fn holds(&self, cell: &Cell) -> bool {
        match cell {
            Cell::List(list) if !list.is_empty() => list.iter().any(|cell| self.holds(cell)),
            cell => self.names(cell) != self.negated,
        }
    }

    /// Returns whether a cell has the condition's value; of a list, whether one of its values is it.
    pub fn names(&self, cell: &Cell) -> bool {
        match cell {
            Cell::List(list) if !list.is_empty() => list.iter().any(|cell| self.names(cell)),
            cell => {
                // A missing value is nothing, and the word for it.
                let text = cell.as_text().unwrap_or_default();
                let texts = [text, cell.missing_word().unwrap_or(text)];
                texts.iter().any(|text| self.value.matches(text))
            }
        }
    }
}

/// A value to compare a text with: the same number, or the same text in any case, in which `*` stands for any text.
#[derive(Clone, Debug)]
struct Value {
    number: Option<f64>,
    pattern: Regex,
}

impl Value {
    fn new(text: &str) -> Result<Self, String> {
        let pattern = format!("(?is)^{}$", regex::escape(text).replace("\\*", ".*"));
        let pattern = Regex::new(&pattern).map_err(|e| e.to_string())?;
        Ok(Self { number: ah_types::number(text), pattern })
    }

    fn matches(&self, text: &str) -> bool {
        match (self.number, ah_types::number(text)) {
            (Some(a), Some(b)) => a == b || a.is_nan() && b.is_nan(),
            _ => self.pattern.is_match(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_split_at_its_sign() {
        for (text, expected) in [
            ("a=b", ("a", false, "b")),
            ("a!=b=c", ("a", true, "b=c")),
            ("a=b!=c", ("a", false, "b!=c")),
            ("exit code!=0", ("exit code", true, "0")),
            ("error!=", ("error", true, "")),
        ] {
            assert_eq!(parse("where", text).unwrap(), expected, "{text}");
        }
        assert!(parse("where", "a").is_err() && parse("where", "=b").is_err());
    }

    #[test]
    fn a_value_is_a_number_a_text_in_any_case_or_a_pattern() {
        for (value, text, expected) in [
            ("0", "0.0", true),
            ("1e20", "1e+20", true),
            ("false", "False", true),
            ("us/op", "us/op", true),
            ("", "", true),
            ("", "x", false),
            ("*:*", "a:b", true),
            ("*:*", "ab", false),
            ("BM_*", "BM_sort/3", true),
            ("*_mean", "a_mean", true),
            ("*_mean", "a_mean_b", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("aa*aa", "aaa", false),
        ] {
            assert_eq!(Value::new(value).unwrap().matches(text), expected, "{value} {text}");
        }
    }
}
