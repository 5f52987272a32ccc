//! `--where` and `--failed-where`: conditions on the cells of one column.

use std::cmp::Ordering;

use ah_model::Error;
use ah_model::shown::{listed, quoted};
use indexmap::IndexSet;
use regex::Regex;

use crate::cell::Cell;
use crate::column::Column;

/// So many values of a column are kept for a message.
const MOST_SHOWN: usize = 16;

/// `COLUMN=VALUE`, `COLUMN!=VALUE`, `COLUMN<NUMBER` or `COLUMN>NUMBER`.
#[derive(Clone, Debug)]
pub struct Condition {
    pub column: Column,
    negated: bool,
    /// How a value compares with the number; `None` for `=` and `!=`.
    order: Option<Ordering>,
    /// The value, if it is a number.
    number: Option<f64>,
    /// The value in any case, in which `*` stands for any text.
    pattern: Regex,
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

    /// A sentence about the condition `text`, whose value no row has.
    pub fn unfound(&self, text: &str) -> String {
        let condition = quoted(&text.replacen("!=", "=", 1));
        format!("no row has {condition}; its column has {}", listed(&self.values))
    }
}

impl Condition {
    /// Reads a condition. `find` finds its column.
    pub fn new(
        field: &'static str,
        text: &str,
        find: impl FnOnce(&str) -> Result<Column, Error>,
    ) -> Result<Self, Error> {
        // Names and values may have these signs.
        let compared = text.split_once(['<', '>']);
        let compared = compared.filter(|(name, x)| !name.contains('=') && ah_types::number(x).is_some());
        let is_less = |name: &str| text[name.len()..].starts_with('<');
        let order = compared.map(|(name, _)| if is_less(name) { Ordering::Less } else { Ordering::Greater });
        let (column, value) = compared.or_else(|| text.split_once('=')).unwrap_or_default();
        let name = column.strip_suffix('!').unwrap_or(column);
        if name.is_empty() {
            let expected = "COLUMN=VALUE, COLUMN!=VALUE, COLUMN<NUMBER or COLUMN>NUMBER";
            return Err(Error::parameter(field, expected, quoted(text)));
        }
        let value = value.trim();
        let pattern = Regex::new(&format!("(?is)^{}$", regex::escape(value).replace("\\*", ".*")))
            .map_err(|e| Error::parameter(field, "a value of fewer characters", e))?;
        let number = ah_types::number(value);
        let negated = name != column;
        Ok(Self { column: find(name)?, negated, order, number, pattern, text: text.to_owned() })
    }

    /// Whether a cell fulfils the condition; of a list, whether one of its values does.
    pub fn holds(&self, cell: &Cell) -> bool {
        cell.any(&|cell| self.matches(cell) != self.negated)
    }

    /// Whether a cell has the condition's value; of a list, whether one of its values is it.
    pub fn names(&self, cell: &Cell) -> bool {
        cell.any(&|cell| self.matches(cell))
    }

    fn matches(&self, cell: &Cell) -> bool {
        // A missing value is nothing, and the word for it.
        let text = cell.as_text().unwrap_or_default();
        if let (Some(order), Some(limit)) = (self.order, self.number) {
            // NaN is not below a limit, so it is above: errors that are NaN are those of wrong results.
            let is_nan = cell.missing_word() == Some("NaN");
            let found = ah_types::number(text).and_then(|x| x.partial_cmp(&limit));
            return found.or(is_nan.then_some(Ordering::Greater)) == Some(order);
        }
        let is_alike = |text: &str| match (self.number, ah_types::number(text)) {
            (Some(a), Some(b)) => a == b || a.is_nan() && b.is_nan(),
            _ => self.pattern.is_match(text),
        };
        is_alike(text) || cell.missing_word().is_some_and(is_alike)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> Result<Condition, Error> {
        let column =
            Column { index: 0, path: Vec::new(), name: String::new(), categorical: false, decimal: None };
        Condition::new("where", text, |name| Ok(Column { name: name.to_owned(), ..column }))
    }

    #[test]
    fn a_condition_is_split_at_its_sign() {
        for (text, expected) in [
            ("a=b", ("a", false, "b")),
            ("a!=b=c", ("a", true, "b=c")),
            ("a=b!=c", ("a", false, "b!=c")),
            ("exit code!=0", ("exit code", true, "0")),
            ("error!=", ("error", true, "")),
            ("p<0.5=true", ("p<0.5", false, "true")),
        ] {
            let Condition { column, negated, .. } = condition(text).unwrap();
            let (name, is_negated, value) = expected;
            assert_eq!((&*column.name, negated), (name, is_negated), "{text}");
            assert!(condition(text).unwrap().names(&Cell::Text(value.to_owned())), "{text}");
        }
        for text in ["a", "=b", "!=b", "a>b", ">1"] {
            assert!(condition(text).is_err(), "{text}");
        }
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
            let found = condition(&format!("c={value}")).unwrap().names(&Cell::Text(text.to_owned()));
            assert_eq!(found, expected, "{value} {text}");
        }
        for (text, cell, expected) in [
            ("err>1e-3", "0.5", true),
            ("err>1e-3", "1e-3", false),
            ("err>1e-3", "NaN", true),
            ("err<1e-3", "NaN", false),
            ("err<1e-3", "1e-7", true),
            ("err<1e-3", "", false),
            ("err>1e-3", "", false),
        ] {
            assert_eq!(condition(text).unwrap().holds(&Cell::from(cell)), expected, "{text} {cell}");
        }
    }
}
