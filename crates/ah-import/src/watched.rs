//! The columns without a role, as far as they may say something about the rows: whether a row is valid, two devices, a number of runs.

use std::collections::BTreeSet;
use std::path::Path;

use ah_model::Fault;
use ah_model::shown::{cut, listed, quoted};
use indexmap::IndexSet;
use rustc_hash::FxHashMap;

use crate::cell::Cell;
use crate::words::{WORDS, is_in, is_label, words};

/// A column with more values is no column of states.
const MOST_VALUES: usize = 16;

/// The number of a value in a row whose table lacks the column.
const ABSENT: u8 = u8::MAX;

/// An error of this many times the least one on its input is no rounding.
const GREAT: f64 = 1000.0;

/// The values of a column without a role.
#[derive(Debug, Default)]
pub struct Watched {
    pub name: String,
    /// Its words, in small letters.
    words: Vec<String>,
    /// Whether its numbers say how wrong a result is.
    measures_errors: bool,
    /// By row, how wrong its result is, infinite for NaN; NaN where nothing says it. Empty for other columns.
    errors: Vec<f64>,
    values: IndexSet<String>,
    pub has_many: bool,
    /// The number of each row's value.
    rows: Vec<u8>,
}

impl Watched {
    pub fn new(name: &str) -> Self {
        let words: Vec<String> = words(name).into_iter().map(str::to_lowercase).collect();
        let measures_errors = has_word(&words, &WORDS.error_names);
        Self { name: name.to_owned(), words, measures_errors, ..Self::default() }
    }

    /// Sees the column's cell in a row, the `row`-th of all tables.
    pub fn see(&mut self, cell: &Cell, row: usize) {
        if self.measures_errors {
            let error = if cell.missing_word() == Some("NaN") { f64::INFINITY } else { f64::NAN };
            self.errors.resize(row, f64::NAN);
            self.errors.push(cell.as_text().and_then(ah_types::number).map_or(error, f64::abs));
        }
        if self.has_many {
            return;
        }
        // The runs of one row have a list of states; an odd one counts.
        let cell = match cell {
            Cell::List(list) => list.iter().find(|cell| Some(*cell) != list.first()).or(list.first()),
            cell => Some(cell),
        };
        let text = cell.and_then(Cell::as_text).unwrap_or_default();
        let value = self.values.get_index_of(text);
        let value = value.unwrap_or_else(|| self.values.insert_full(text.to_owned()).0);
        self.has_many = value == MOST_VALUES;
        if self.has_many {
            (self.rows, self.values) = (Vec::new(), IndexSet::new());
            return;
        }
        self.rows.resize(row, ABSENT);
        self.rows.push(value as u8);
    }

    /// The number of a row's value, unless the column has many values.
    pub fn number(&self, row: usize) -> u8 {
        self.rows.get(row).copied().unwrap_or(ABSENT)
    }

    /// Refuses rows of several devices, which one log cannot hold unless a feature tells which.
    ///
    /// # Errors
    /// [`Fault`] names them.
    pub fn one_device(&self, path: &Path) -> Result<(), Fault> {
        let is_device = is_in(&WORDS.devices, &self.words.concat())
            || self.words.last().is_some_and(|last| is_in(&WORDS.device_endings, last));
        let is_name = |value: &&String| !value.is_empty() && ah_types::number(value).is_none();
        let names: Vec<&String> = self.values.iter().filter(is_name).collect();
        if !is_device || names.len() < 2 {
            return Ok(());
        }
        let hint = format!(
            "keep the rows of one (--where {}), or make the column a feature (--features); --device LOG says that all rows are of \
             that log's device",
            quoted(&format!("{}={}", self.name, names[0]))
        );
        let found = format!("{} in column {}", listed(&names), quoted(&self.name));
        Err(Fault::new("times of one device", found, hint).of_file(path))
    }

    /// Whether it counts runs, differently in different rows.
    pub fn counts_runs(&self) -> bool {
        let is_count = self.words.last().is_some_and(|last| is_in(&WORDS.counts, last));
        is_count && (self.has_many || self.values.len() > 1)
    }

    /// Sentences where the column probably says whether a row is valid, and a row with the least time of its input (`fastest`) is not,
    /// or a row without a time (`untimed`) failed. `input_of` is the input of a row.
    pub fn validity(
        &self,
        fastest: &[usize],
        untimed: &[usize],
        input_of: impl Fn(usize) -> u32,
    ) -> impl Iterator<Item = String> {
        let usual = self.usual();
        let is_bad_state = |value: &String| !self.is_good(value).unwrap_or(Some(value) == usual);
        let is_about = self.is_about_validity() && self.values.len() > 1;
        let what = "with the least time of their input (inputs";
        let winners = self.bad_rows(fastest, what, |value| is_about && is_bad_state(value));
        let what = "without a time, which count as not measured (rows";
        let failures = self.bad_rows(untimed, what, |value| is_bad(value));
        [winners, failures, self.great_errors(fastest, input_of)].into_iter().flatten()
    }

    /// The most frequent value.
    fn usual(&self) -> Option<&String> {
        let count = |value: &u8| self.rows.iter().filter(|row| *row == value).count();
        self.values.get_index((0..self.values.len() as u8).max_by_key(count)?.into())
    }

    /// A sentence about the bad values that these rows have. `what` describes the rows, up to their number.
    fn bad_rows(&self, rows: &[usize], what: &str, is_bad: impl Fn(&String) -> bool) -> Option<String> {
        let values = rows.iter().filter_map(|row| self.values.get_index((*self.rows.get(*row)?).into()));
        let bad: Vec<&String> = values.filter(|value| is_bad(value)).collect();
        let first = bad.first()?;
        let condition = |sign: &str| shell(&format!("{}{sign}{first}", self.name));
        let names: BTreeSet<String> = bad.iter().map(|value| quoted(value)).collect();
        Some(format!(
            "column {} is {} in rows {what}: {}). If such rows failed, give --failed-where {}; if they are no measurements, --where {}",
            quoted(&self.name),
            Vec::from_iter(names).join(" or "),
            bad.len(),
            condition("="),
            condition("!=")
        ))
    }

    /// A sentence about errors of the `fastest` rows that are NaN, or far above the least error on the same input.
    fn great_errors(&self, fastest: &[usize], input_of: impl Fn(usize) -> u32) -> Option<String> {
        self.errors.iter().find(|error| error.is_finite())?;
        // An exact result beside rounded ones does not make these wrong.
        let mut least: FxHashMap<u32, f64> = FxHashMap::default();
        for (row, error) in self.errors.iter().enumerate().filter(|(_, error)| **error > 0.0) {
            let least = least.entry(input_of(row)).or_insert(*error);
            *least = least.min(*error);
        }
        let error = |row: &usize| Some((*self.errors.get(*row)?, *least.get(&input_of(*row))?));
        let is_great = |(error, least): &(f64, f64)| error.is_infinite() || *error > GREAT * least;
        let great = || fastest.iter().filter_map(error).filter(is_great);
        let (most, beside) = great()
            .max_by(|(a, a_beside), (b, b_beside)| a.total_cmp(b).then(b_beside.total_cmp(a_beside)))?;
        let most = if most.is_finite() { format!("{most:.1e}") } else { "NaN or infinite".to_owned() };
        Some(format!(
            "column {} is {most} in rows with the least time of their input, and {beside:.1e} in others (inputs: {}). If such results are \
             wrong, give --failed-where {}",
            quoted(&self.name),
            great().count(),
            shell(&format!("{}>LIMIT", self.name))
        ))
    }

    /// Whether its numbers measure something, so that they are no states.
    fn is_measured(&self) -> bool {
        let is_fraction = |value: &String| ah_types::number(value).is_some_and(|x| x.fract() != 0.0);
        self.values.iter().any(is_fraction)
    }

    fn is_about_validity(&self) -> bool {
        let lists = [&WORDS.good_names, &WORDS.bad_names, &WORDS.neutral_names];
        let is_named = lists.iter().any(|names| has_word(&self.words, names));
        // A margin of error is no error.
        is_named && !self.is_measured() && !is_label(&self.name)
            || self.values.iter().any(|value| is_bad(value))
    }

    /// Whether a value is good news, if the words say so.
    fn is_good(&self, value: &str) -> Option<bool> {
        if self.is_measured() && ah_types::number(value).is_some() {
            return Some(true);
        }
        let is_bad = is_bad(value);
        let value = value.to_lowercase();
        if is_bad || is_in(&WORDS.good_values, &value) {
            return Some(!is_bad);
        }
        let is_true = match &*value {
            "true" | "yes" | "ja" | "1" | "t" | "y" => Some(true),
            "" | "false" | "no" | "nein" | "0" | "f" | "n" | "none" => Some(false),
            _ => None,
        };
        match (has_word(&self.words, &WORDS.good_names), has_word(&self.words, &WORDS.bad_names)) {
            // How many tests passed.
            (true, false) => is_true.or_else(|| ah_types::number(&value).map(|passed| passed > 0.0)),
            (false, true) => Some(is_true == Some(false)),
            _ => None,
        }
    }
}

/// Whether one of a name's words, or two behind each other as in `timed_out`, is one of these or begins with a long one.
fn has_word(name: &[String], words: &[String]) -> bool {
    let is_one =
        |word: &str| words.iter().any(|known| word == known || known.len() > 3 && word.starts_with(&**known));
    name.iter().any(|word| is_one(word)) || name.windows(2).any(|two| is_one(&two.concat()))
}

/// Whether a value is bad news in any column: `FAIL`, `CUDA error: 700`, not `no errors`.
fn is_bad(value: &str) -> bool {
    let text = format!(" {} ", words(value).join(" ").to_lowercase());
    let is_denied = [" no ", " 0 ", " without "].iter().any(|no| text.starts_with(no));
    !is_denied && WORDS.bad_values.iter().any(|bad| text.contains(&format!(" {bad} ")))
}

/// A word for a shell.
pub fn shell(word: &str) -> String {
    shlex::try_quote(&cut(word, 60)).unwrap_or_default().into_owned()
}
