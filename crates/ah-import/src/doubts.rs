//! What a table leaves open, found in the columns that no flag names and in the names of the choices: a column that says whether a row
//! is valid, two devices, and statistics beside what they are of.

use std::path::Path;

use ah_model::shown::{cut, listed, quoted};
use ah_model::{Error, Fault};
use indexmap::IndexSet;

use crate::cell::Cell;
use crate::column::{Column, is_named};
use crate::words::{WORDS, is_in, is_spread, is_statistic, words};

/// A column with more values is no column of states.
const MOST_VALUES: usize = 16;

/// The number of a value in a row whose table lacks the column.
const ABSENT: u8 = u8::MAX;

/// The state of a measured error, and of one that is NaN or infinite.
const A_NUMBER: &str = "a number";
const NO_NUMBER: &str = "NaN";
/// The values of the columns without a role, row by row.
#[derive(Debug, Default)]
pub struct Doubts {
    columns: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    name: String,
    /// Its words, in small letters.
    words: Vec<String>,
    /// Whether its numbers say how wrong a result is.
    measures_errors: bool,
    values: IndexSet<String>,
    has_many: bool,
    /// The number of each row's value.
    rows: Vec<u8>,
}

impl Doubts {
    /// Returns the places of a table's columns without a role, each with that of the watched column.
    pub fn places(&mut self, unused: &[Column]) -> Vec<(usize, usize)> {
        let place = |column: &Column| {
            let at = self.columns.iter().position(|known| known.name == column.name).unwrap_or_else(|| {
                let words = words(&column.name).into_iter().map(str::to_lowercase);
                let words: Vec<String> = words.collect();
                let (values, rows) = (IndexSet::new(), Vec::new());
                self.columns.push(Watched {
                    name: column.name.clone(),
                    measures_errors: has_word(&words, &WORDS.error_names),
                    words,
                    values,
                    has_many: false,
                    rows,
                });
                self.columns.len() - 1
            });
            (column.index, at)
        };
        unused.iter().filter(|column| !column.name.is_empty()).map(place).collect()
    }

    /// Sees a row, the `row`-th of all tables.
    pub fn see(&mut self, cells: &[Cell], places: &[(usize, usize)], row: usize) {
        for &(cell, at) in places {
            let watched = &mut self.columns[at];
            if watched.has_many {
                continue;
            }
            // The runs of one row have a list of states; an odd one counts.
            let cell = match &cells[cell] {
                Cell::List(list) => list.iter().find(|cell| Some(*cell) != list.first()).or(list.first()),
                cell => Some(cell),
            };
            let text = cell.map(|cell| watched.state(cell)).unwrap_or_default();
            let value = watched.values.get_index_of(text);
            let value = value.unwrap_or_else(|| watched.values.insert_full(text.to_owned()).0);
            watched.has_many = value == MOST_VALUES;
            watched.rows.resize(row, ABSENT);
            watched.rows.push(value as u8);
            if watched.has_many {
                (watched.rows, watched.values) = (Vec::new(), IndexSet::new());
            }
        }
    }

    /// Refuses rows of several devices, which one log cannot hold unless a feature tells which.
    ///
    /// # Errors
    /// [`Fault`] names them.
    pub fn one_device(&self, path: &Path) -> Result<(), Error> {
        let is_device = |watched: &&Watched| {
            let (name, last) = (watched.words.concat(), watched.words.last());
            is_in(&WORDS.devices, &name) || last.is_some_and(|last| is_in(&WORDS.device_endings, last))
        };
        for watched in self.columns.iter().filter(is_device) {
            let names: Vec<&String> = watched.values.iter().filter(|value| is_name(value)).collect();
            if names.len() > 1 {
                let (column, first) = (&watched.name, names[0]);
                let hint = format!(
                    "keep the rows of one (--where {}), or make the column a feature (--features); --device LOG says that all rows \
                     are of that log's device",
                    quoted(&format!("{column}={first}"))
                );
                let found = format!("{} in column {}", listed(&names), quoted(column));
                return Err(Fault::new("times of one device", found, hint).of_file(path).into());
            }
        }
        Ok(())
    }

    /// Returns a sentence for each column that probably says whether a row is valid, where `fastest` rows are not, but for the columns
    /// that the user `asked` about. `fastest` has for each input the row with the least time.
    pub fn validity(&self, fastest: &[usize], asked: &[&str]) -> Vec<String> {
        let count = |rows: &mut dyn Iterator<Item = u8>, of: usize| {
            rows.filter(|value| usize::from(*value) == of).count()
        };
        let sentence = |watched: &Watched| {
            if watched.has_many || watched.values.len() < 2 {
                return None;
            }
            let usual = (0..watched.values.len())
                .max_by_key(|&value| count(&mut watched.rows.iter().copied(), value))?;
            let winners =
                |value| count(&mut fastest.iter().filter_map(|row| watched.rows.get(*row).copied()), value);
            let is_bad = |value: &usize| !watched.is_good(&watched.values[*value]).unwrap_or(*value == usual);
            let bad: Vec<usize> =
                (0..watched.values.len()).filter(is_bad).filter(|&value| winners(value) > 0).collect();
            if !watched.is_about_validity() || bad.is_empty() {
                return None;
            }
            let values = bad.iter().map(|&value| quoted(&watched.values[value]));
            let flag = format!("{}={}", watched.name, watched.values[bad[0]]);
            Some(format!(
                "column {} is {} in rows with the least time of their input (inputs: {}). If such rows failed, give --failed-where {}; \
                 if they are no measurements, --where {}",
                quoted(&watched.name),
                values.collect::<Vec<_>>().join(" or "),
                bad.iter().map(|&value| winners(value)).sum::<usize>(),
                shell(&flag),
                shell(&flag.replacen('=', "!=", 1)),
            ))
        };
        let is_open = |watched: &&Watched| !asked.iter().any(|name| is_named(&watched.name, name));
        self.columns.iter().filter(is_open).filter_map(sentence).collect()
    }
}

impl Watched {
    /// Returns the state that a cell says. Of measured errors only whether there is one matters: of a wrong result it is often NaN.
    fn state<'c>(&self, cell: &'c Cell) -> &'c str {
        let text = cell.as_text().unwrap_or_default();
        if !self.measures_errors {
            return text;
        }
        match ah_types::number(text) {
            Some(x) if !x.is_finite() => NO_NUMBER,
            Some(x) if x.fract() != 0.0 => A_NUMBER,
            Some(_) => text,
            None => cell.missing_word().filter(|word| *word == NO_NUMBER).unwrap_or(text),
        }
    }

    /// Returns whether its numbers measure something, so that they are no states.
    fn is_measured(&self) -> bool {
        let is_fraction = |value: &String| ah_types::number(value).is_some_and(|x| x.fract() != 0.0);
        self.values.iter().any(|value| value == A_NUMBER || is_fraction(value))
    }

    fn is_about_validity(&self) -> bool {
        let is_named = [&WORDS.good_names, &WORDS.bad_names, &WORDS.neutral_names]
            .iter()
            .any(|names| has_word(&self.words, names));
        let is_bad = |value: &String| value == NO_NUMBER || is_in(&WORDS.bad_values, &value.to_lowercase());
        // A margin of error is no error, unless it is no number.
        is_named && !self.is_measured() || self.values.iter().any(is_bad)
    }

    /// Returns whether a value is good news, if the words say so.
    fn is_good(&self, value: &str) -> Option<bool> {
        if self.is_measured()
            && (value == A_NUMBER || value == NO_NUMBER || ah_types::number(value).is_some())
        {
            return Some(value != NO_NUMBER);
        }
        let value = value.to_lowercase();
        let is_good = is_in(&WORDS.good_values, &value);
        if is_good || is_in(&WORDS.bad_values, &value) {
            return Some(is_good);
        }
        let is_true = match &*value {
            "true" | "yes" | "1" | "t" | "y" => Some(true),
            "" | "false" | "no" | "0" | "f" | "n" | "none" => Some(false),
            _ => None,
        };
        match (has_word(&self.words, &WORDS.good_names), has_word(&self.words, &WORDS.bad_names)) {
            (true, false) => is_true,
            (false, true) => Some(is_true == Some(false)),
            _ => None,
        }
    }
}

/// Returns whether one of a name's words, or two behind each other as in `timed_out`, is one of these.
fn has_word(name: &[String], words: &[String]) -> bool {
    let mut two = name.windows(2).map(<[String]>::concat);
    name.iter().any(|word| words.contains(word)) || two.any(|word| words.contains(&word))
}

fn is_name(value: &str) -> bool {
    !value.is_empty() && ah_types::number(value).is_none()
}

/// Returns whether the end of a name is a figure: ` (p99)`, `_mean`, `/real_time`.
fn is_figure(end: &str) -> bool {
    let word: String = end.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    is_statistic(&word) || is_spread(&word) || is_in(&WORDS.figures, &word)
}

/// Returns a word for a shell.
fn shell(word: &str) -> String {
    if word.bytes().all(|b| b.is_ascii_alphanumeric() || b"=!_-./".contains(&b)) && !word.contains('!') {
        return word.to_owned();
    }
    format!("'{}'", cut(word, 60).replace('\'', "'\\''"))
}

/// Returns a sentence about choices that are statistics of another choice, such as `sort:p0.50` beside `sort`. `column` has their names.
pub fn statistics(choices: &IndexSet<String>, column: &str) -> Option<String> {
    let of = |name: &str| {
        let begins_figure = |at: usize| {
            let (before, end) = name.split_at(at);
            let is_one = end.starts_with([':', '·', '@'])
                || end.starts_with(['_', '/', '.', '-', ' ', '(', '[']) && is_figure(end);
            (is_one && choices.contains(before)).then(|| before.to_owned())
        };
        name.char_indices().skip(1).find_map(|(at, _)| begins_figure(at))
    };
    let mut found = choices.iter().filter_map(|name| Some((name, of(name)?)));
    let (first, of_first) = found.next()?;
    let pattern = if first[of_first.len()..].starts_with(':') { "*:*" } else { first };
    Some(format!(
        "choices that look like statistics of another one: {}, for example {} beside {}. If they are no choices, give --where {}",
        1 + found.count(),
        quoted(first),
        quoted(&of_first),
        shell(&format!("{column}!={pattern}")),
    ))
}
