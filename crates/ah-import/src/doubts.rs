//! What a table leaves open, found in the columns that no flag names and in the names of the choices: a column that says whether a row
//! is valid, two devices, and statistics beside what they are of.

use std::path::Path;

use ah_model::shown::{cut, listed, quoted};
use ah_model::{Error, Fault};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cell::Cell;
use crate::column::{Column, is_named};
use crate::words::{WORDS, is_in, is_label, is_spread, is_statistic, statistics_of_one, words};

/// A column with more values is no column of states.
const MOST_VALUES: usize = 16;

/// The number of a value in a row whose table lacks the column.
const ABSENT: u8 = u8::MAX;

/// A column matters where its values explain this share of how far the times of one input and choice differ.
const EXPLAINED: f64 = 0.7;

/// Times that differ less are repetitions: 3 % by a column, and 1.4 times by the place in a list, whose first run may be slow.
const LEAST_DEVIATIONS: [f64; 2] = [0.03, 0.35];

/// An error that is so many times the least one on its input is no rounding.
const GREAT: f64 = 1000.0;

/// The values of the columns without a role, row by row.
#[derive(Debug, Default)]
pub struct Doubts {
    pub columns: IndexMap<String, Watched>,
}

/// How far a time is from the others of its input and its choice.
pub struct Deviation {
    pub row: usize,
    pub input: u32,
    pub choice: u32,
    /// The place in a list of times.
    pub place: u32,
    /// The logarithm of its time less the mean of all.
    pub log: f64,
}

/// The values of a column without a role.
#[derive(Debug, Default)]
pub struct Watched {
    name: String,
    /// Its words, in small letters.
    words: Vec<String>,
    /// Whether its numbers say how wrong a result is.
    measures_errors: bool,
    /// By row, how wrong its result is, infinite for NaN; NaN where nothing says it. Empty for other columns.
    errors: Vec<f64>,
    values: IndexSet<String>,
    has_many: bool,
    /// The number of each row's value.
    rows: Vec<u8>,
}

impl Doubts {
    /// Sees a row, the `row`-th of all tables.
    pub fn see(&mut self, cells: &[Cell], places: &[(&Column, usize)], row: usize) {
        for &(column, at) in places {
            let watched = &mut self.columns[at];
            if watched.measures_errors {
                let cell = column.cell(cells);
                let error = if cell.missing_word() == Some("NaN") { f64::INFINITY } else { f64::NAN };
                watched.errors.resize(row, f64::NAN);
                watched.errors.push(cell.as_text().and_then(ah_types::number).map_or(error, f64::abs));
            }
            if watched.has_many {
                continue;
            }
            // The runs of one row have a list of states; an odd one counts.
            let cell = match column.cell(cells) {
                Cell::List(list) => list.iter().find(|cell| Some(*cell) != list.first()).or(list.first()),
                cell => Some(cell),
            };
            let text = cell.and_then(Cell::as_text).unwrap_or_default();
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
            let name = watched.words.concat();
            let last = watched.words.last();
            is_in(&WORDS.devices, &name) || last.is_some_and(|last| is_in(&WORDS.device_endings, last))
        };
        for watched in self.columns.values().filter(is_device) {
            let names: Vec<&String> = watched.values.iter().filter(|value| is_name(value)).collect();
            if names.len() > 1 {
                let column = &watched.name;
                let first = names[0];
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

    /// A sentence for each column that counts the runs in the times of the column `time`, if its name is that of a total.
    pub fn counts(&self, time: &str) -> impl Iterator<Item = String> {
        let is_total =
            words(time).iter().any(|word| ["total", "sum", "measured"].contains(&&*word.to_lowercase()));
        let differs = |watched: &Watched| watched.has_many || watched.values.len() > 1;
        let is_count =
            |watched: &Watched| watched.words.last().is_some_and(|last| is_in(&WORDS.counts, last));
        let counts = self.columns.values().filter(move |of| is_total && is_count(of) && differs(of));
        counts.map(move |Watched { name, .. }| {
            format!("rows differ in {name}: if {} is a total of so many runs, divide it first", quoted(time))
        })
    }

    /// A sentence about what explains most of how far times differ from others of their input and choice. `free` is the number of
    /// times less that of such pairs.
    pub fn explanation(&self, times: &[Deviation], free: usize) -> Option<String> {
        let all: f64 = times.iter().map(|time| time.log * time.log).sum();
        let [by_column, by_place] = LEAST_DEVIATIONS.map(|least| all > least * least * free as f64);
        let explains = |value: &dyn Fn(&Deviation) -> u32| {
            let mut sums: FxHashMap<(u32, u32), (f64, f64)> = FxHashMap::default();
            for time in times {
                let (sum, count) = sums.entry((time.choice, value(time))).or_default();
                (*sum, *count) = (*sum + time.log, *count + 1.0);
            }
            let explained: f64 = sums.values().map(|(sum, count)| sum * sum / count).sum();
            free >= 3 * sums.len() && explained > EXPLAINED * all
        };
        // Each pair has each value once, as in a grid, so that they may be better and worse.
        let is_factor = |value: &dyn Fn(&Deviation) -> u32| {
            let pairs = times.len() - free;
            let values: FxHashSet<u32> = times.iter().map(value).collect();
            let cells: FxHashSet<_> =
                times.iter().map(|time| (time.input, time.choice, value(time))).collect();
            pairs > 2 && cells.len() == times.len() && times.len() == pairs * values.len()
        };
        let matters = |watched: &&Watched| {
            let value = |time: &Deviation| u32::from(watched.rows.get(time.row).copied().unwrap_or(ABSENT));
            let is_open = by_column && !watched.has_many && !is_label(&watched.name);
            is_open && (explains(&value) || is_factor(&value))
        };
        match self.columns.values().find(matters) {
            Some(Watched { name, .. }) => Some(format!(
                "column {} may change the times of one choice on one input. Is it a part of --choice or --features? Or keep some rows with \
                 --where",
                quoted(name)
            )),
            None => (by_place && explains(&|time| time.place)).then(|| {
                "the times of a row differ by their place: if they are no repetitions, name one of them, as in --time COLUMN.0".to_owned()
            }),
        }
    }

    /// A sentence for each column that probably says whether a row is valid, where `fastest` rows are not, or rows without times
    /// (`untimed`) failed, but for the columns that the user `asked` about. `fastest` has for each input the row with the least time;
    /// `input_of` is the input of a row.
    pub fn validity(
        &self,
        fastest: &[usize],
        untimed: &[usize],
        input_of: &dyn Fn(usize) -> u32,
        asked: &[&str],
    ) -> Vec<String> {
        let sentences = |watched: &Watched| {
            let usual = watched.usual();
            let is_bad_state = |value: &String| !watched.is_good(value).unwrap_or(Some(value) == usual);
            let is_about = watched.is_about_validity() && watched.values.len() > 1;
            let what = "with the least time of their input (inputs";
            let winners = watched.bad_rows(fastest, what, |value| is_about && is_bad_state(value));
            let what = "without a time, which count as not measured (rows";
            let failures = watched.bad_rows(untimed, what, |value| is_bad(value));
            [winners, failures, watched.great_errors(fastest, input_of)].into_iter().flatten()
        };
        let is_open = |watched: &&Watched| !asked.iter().any(|name| is_named(&watched.name, name));
        self.columns.values().filter(is_open).flat_map(sentences).collect()
    }
}

impl Watched {
    pub fn new(name: &str) -> Self {
        let words: Vec<String> = words(name).into_iter().map(str::to_lowercase).collect();
        let measures_errors = has_word(&words, &WORDS.error_names);
        Self { name: name.to_owned(), words, measures_errors, ..Self::default() }
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
        let flag = format!("{}={}", self.name, bad.first()?);
        let mut names: Vec<String> = bad.iter().map(|value| quoted(value)).collect();
        names.sort();
        names.dedup();
        Some(format!(
            "column {} is {} in rows {what}: {}). If such rows failed, give --failed-where {}; if they are no measurements, --where {}",
            quoted(&self.name),
            names.join(" or "),
            bad.len(),
            shell(&flag),
            shell(&flag.replacen('=', "!=", 1))
        ))
    }

    /// A sentence about errors of the `fastest` rows that are NaN, or far above the least error on the same input.
    fn great_errors(&self, fastest: &[usize], input_of: &dyn Fn(usize) -> u32) -> Option<String> {
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
        let is_named = [&WORDS.good_names, &WORDS.bad_names, &WORDS.neutral_names]
            .iter()
            .any(|names| has_word(&self.words, names));
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

fn is_name(value: &str) -> bool {
    !value.is_empty() && ah_types::number(value).is_none()
}

/// Whether the end of a name is a figure: ` (p99)`, `_mean`, `/real_time`.
fn is_figure(end: &str) -> bool {
    let word: String = end.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    is_statistic(&word) || is_spread(&word) || is_in(&WORDS.figures, &word)
}

/// A word for a shell.
fn shell(word: &str) -> String {
    shlex::try_quote(&cut(word, 60)).unwrap_or_default().into_owned()
}

/// A sentence about choices that are statistics of another choice, such as `sort:p0.50` beside `sort`, or of all, such as
/// `total`. `column` has their names.
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
    let mut found: Vec<_> = choices.iter().filter_map(|name| Some((name, of(name)?))).collect();
    if found.is_empty() {
        let alike = statistics_of_one(choices);
        let other = |name: &&String| {
            choices.iter().find(|other| *other != *name && (alike.len() == 1 || alike.contains(other)))
        };
        found = alike.iter().filter_map(|name| Some((*name, other(name)?.clone()))).collect();
    }
    let (first, of_first) = found.first()?;
    let pattern =
        if first.strip_prefix(&**of_first).is_some_and(|end| end.starts_with(':')) { "*:*" } else { first };
    Some(format!(
        "choices that look like statistics of another one: {}, for example {} beside {}. If they are no choices, give --where {}",
        found.len(),
        quoted(first),
        quoted(of_first),
        shell(&format!("{column}!={pattern}")),
    ))
}
