//! The texts of a column, as far as they show whether it holds numbers, and which texts can be read in two ways.

use std::collections::BTreeMap;

use ah_model::shown::quoted;
use ah_model::{Fault, FeatureKind, RowNumber};
use indexmap::IndexSet;

use crate::cell::Cell;
use crate::column::Column;
use crate::number;

/// So many different fractions of a column are kept. A column of versions has fewer.
const MOST_FRACTIONS: usize = 1000;

/// The place of a row: the position of its table, and its number there.
pub type Place = (usize, RowNumber);

/// The texts of one column of all tables.
#[derive(Debug, Default)]
pub struct Texts {
    numbers: Kind,
    names: Kind,
    /// The names that are numbers in a notation that import does not read.
    odd: Kind,
    /// The numbers whose points may group digits.
    grouped: Kind,
    /// Whether a number has no point.
    has_whole: bool,
    /// Whether a number shows that points begin fractions.
    has_fraction: bool,
    fractions: IndexSet<String>,
    /// By word, the rows in which it is read as a missing value.
    pub missing: BTreeMap<&'static str, u64>,
    /// The first name that has white space around it in the table.
    pub spaced: Option<String>,
}

/// Texts of one kind: their number, and the first.
#[derive(Debug, Default)]
struct Kind {
    count: usize,
    first: Option<(Place, String)>,
}

impl Kind {
    fn see(&mut self, text: &str, row: &Place) {
        self.count += 1;
        self.first.get_or_insert_with(|| (row.clone(), text.to_owned()));
    }
}

impl Texts {
    /// Sees the column's cell in a row.
    pub fn see(&mut self, column: &Column, cells: &[Cell], row: &Place) {
        let cell = column.cell(cells);
        if let Some(word) = cell.missing_word() {
            *self.missing.entry(word).or_default() += 1;
            return;
        }
        let Some(text) = cell.as_text() else { return };
        let is_name = column.categorical || number::of_feature(text, column.decimal).is_none();
        if let Cell::Spaced(whole) = cell
            && is_name
        {
            self.spaced.get_or_insert_with(|| whole.clone());
        }
        if column.categorical {
            return;
        }
        if is_name {
            self.names.see(text, row);
            let has_digit = text.contains(|c: char| c.is_ascii_digit());
            if has_digit && number::advice(text).is_some() {
                self.odd.see(text, row);
            }
            return;
        }
        self.numbers.see(text, row);
        let is_fraction = text.contains('.');
        if column.decimal.is_none() && !matches!(cell, Cell::Number(_)) {
            self.see_points(text, row);
        }
        if is_fraction && self.fractions.len() < MOST_FRACTIONS && !self.fractions.contains(text) {
            self.fractions.insert(text.to_owned());
        }
    }

    /// Sees the number in a cell, whose points may group digits.
    pub fn see_points(&mut self, text: &str, row: &Place) {
        let is_fraction = text.contains('.');
        if is_fraction && number::may_be_grouped(text) {
            self.grouped.see(text, row);
        } else if let Some(x) = ah_types::number(text) {
            // A spreadsheet that groups digits groups those of all numbers from 1000 on.
            self.has_fraction |= is_fraction || x.abs() >= 1000.0;
            self.has_whole |= !is_fraction;
        }
    }

    /// A sentence about numbers that each have a point with three digits behind it, which may group digits.
    pub fn all_grouped(&self, column: &str) -> Option<String> {
        let (_, text) = self.grouped.first.as_ref().filter(|_| !self.has_whole && !self.has_fraction)?;
        let value = ah_types::number(text)?;
        Some(format!(
            "each number in column {} has three digits behind its point: {text} is read as {value}; give --decimal comma if the points \
             group digits",
            quoted(column)
        ))
    }

    /// The fault of a text that can be read in two ways: a point that probably groups digits, as whole numbers stand beside it and
    /// each point has three digits behind it, or a notation that other numbers do not have.
    pub fn doubt(&self) -> Option<(&Place, Fault)> {
        if self.has_whole
            && !self.has_fraction
            && let Some((row, text)) = &self.grouped.first
        {
            let expected = "numbers that can be read in one way alone, as each value with a point has three digits behind it and whole \
                            numbers stand beside them";
            return Some((row, Fault::new(expected, quoted(text), number::hint(text))));
        }
        let (row, text) = self.odd.first.as_ref().filter(|_| self.numbers.count > 0)?;
        Some((row, odd(text, format!("a number, as in {} other rows", self.numbers.count))))
    }

    /// The kind of a feature without a [doubt](Self::doubt), which is numerical where all texts are numbers.
    ///
    /// # Errors
    /// The first odd row, where some texts are numbers and others are names.
    pub fn kind(&self) -> Result<FeatureKind, (&Place, Fault)> {
        let numbers = self.numbers.count;
        let names = self.names.count;
        let ((row, text), expected) = match (&self.numbers.first, &self.names.first, &self.odd.first) {
            (Some(_), None, _) => return Ok(FeatureKind::Numerical),
            (Some(_), Some(name), _) if names <= numbers => {
                (name, format!("a number, as in {numbers} other rows"))
            }
            (Some(number), Some(_), _) => (number, format!("a name, as in {names} other rows")),
            (None, _, Some(name)) if 10 * self.odd.count >= 9 * names => (name, "a number".to_owned()),
            _ => return Ok(FeatureKind::Categorical),
        };
        Err((row, odd(text, expected)))
    }

    /// A sentence about two texts that are one number, as `1.1` and `1.10`: they may be versions.
    pub fn versions(&self, column: &Column) -> Option<String> {
        let shorter = |text: &String| self.fractions.get(text.trim_end_matches('0'));
        let (short, long) =
            self.fractions.iter().find_map(|text| Some((shorter(text)?, text)).filter(|(a, b)| a != b))?;
        let name = quoted(&column.name);
        Some(format!(
            "{short} and {long} are one number in column {name}: if they are versions or names, give --categorical {name}"
        ))
    }
}

/// The fault of a text that is of another kind than those around it.
fn odd(text: &str, expected: String) -> Fault {
    let advice = number::advice(text).unwrap_or("fix it");
    let hint = format!("{advice}; or give --categorical with this column if these are names");
    Fault::new(expected, quoted(text), hint)
}
