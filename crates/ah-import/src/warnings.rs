//! What an import tells its user about the tables, in sentences: what is assumed, what is left out, and what may be read in another way.

use std::collections::BTreeSet;

use ah_model::FeatureKind;
use ah_model::math::ln;
use ah_model::shown::{listed, quoted};
use rustc_hash::FxHashMap;

use crate::cell::{NONE, truth};
use crate::contents::{Contents, TableRow, Time};
use crate::doubts::{self, Deviation};
use crate::number;
use crate::params::ImportParams;
use crate::times::split_unit;
use crate::words;

/// Times of one choice on one input that differ by more than this factor are not repetitions: they more likely belong to
/// different inputs, and a feature that distinguishes these was not given.
const APART: f64 = 2.0;

/// The same greatest time in several rows may be a failure or a limit where it is so many times all others.
const LIMIT: f64 = 10.0;

/// The most times among which a reason for differences is looked for.
const MOST_COMPARED: usize = 200_000;

impl Contents {
    /// All sentences, what is assumed first.
    pub fn warnings(&self, params: &ImportParams) -> Vec<String> {
        let asked = self.roles.all_conditions().filter(|of| self.conditions[&of.text].is_found);
        let asked: Vec<&str> = asked.map(|of| &*of.column.name).collect();
        let names_device = params.device.is_some() || params.device_capa.is_some();
        let mut warnings: Vec<String> = self.assumed_unit().into_iter().collect();
        warnings.extend(self.unfound(params));
        warnings.extend(self.left_out());
        warnings.extend(self.limit());
        warnings.extend(self.odd_values());
        let input_of = |row: usize| self.rows[row].input;
        let fastest = self.fastest_rows();
        let untimed = self.rows_without_times();
        warnings.extend(self.doubts.validity(&fastest, &untimed, &input_of, &asked));
        warnings.extend(self.doubts.counts(&self.roles.times[0].column.name));
        if let [choice] = &self.roles.choice[..] {
            warnings.extend(doubts::statistics(&self.choices, &choice.name));
        }
        warnings.extend(self.contradiction(params));
        warnings.extend((!names_device).then(|| {
            "the log names no device, so a heuristic learned from it holds on every device; \
             name it with --device LOG, or a GPU's --device-capa and --shared-memory"
                .to_owned()
        }));
        warnings
    }

    /// A sentence where nothing says what the numbers are.
    fn assumed_unit(&self) -> Option<String> {
        let is_assumed = self.roles.unit_is_assumed() && !self.seen.has_own_units;
        is_assumed.then(|| {
            format!(
                "nothing says what the numbers of {} are: they are read as milliseconds, where less is better (give --unit, or \
                 --higher-is-better for rates)",
                listed(self.roles.times.iter().map(|time| &time.column.name))
            )
        })
    }

    /// Sentences about rows that were not read.
    fn left_out(&self) -> impl Iterator<Item = String> {
        let kinds = [("bad rows skipped", &self.bad_rows), ("repeated lines of names", &self.repeated_names)];
        let found = kinds.into_iter().filter(|(_, rows)| rows.count() > 0);
        found.map(|(kind, rows)| format!("{kind}: {}, for example {rows}", rows.count()))
    }

    /// A sentence about the greatest time, where several rows have it and all other times are far below it.
    fn limit(&self) -> Option<String> {
        let (most, text) = &self.seen.greatest;
        let others = self.times.iter().filter(|time| time.ms < *most).map(|time| time.ms).fold(0.0, f64::max);
        let count = self.times.iter().filter(|time| time.ms == *most).count();
        let (text, _) = split_unit(text);
        let is_limit = count > 1 && others > 0.0 && *most >= LIMIT * others;
        is_limit.then(|| {
            format!("{text} is {LIMIT} or more times all other times (rows: {count}): if it stands for a failure or a limit, give --failed={text}")
        })
    }

    /// The row with the least time, by input.
    fn fastest_rows(&self) -> Vec<usize> {
        let mut fastest: FxHashMap<u32, Time> = FxHashMap::default();
        for time in self.times.iter().filter(|time| time.ms.is_finite()) {
            let least = fastest.entry(self.rows[time.row as usize].input).or_insert(*time);
            if time.ms < least.ms {
                *least = *time;
            }
        }
        fastest.values().map(|time| time.row as usize).collect()
    }

    /// The rows that hold no time.
    fn rows_without_times(&self) -> Vec<usize> {
        let mut has_time = vec![false; self.rows.len()];
        self.times.iter().for_each(|time| has_time[time.row as usize] = true);
        (0..has_time.len()).filter(|row| !has_time[*row]).collect()
    }

    /// Sentences about the cells of features and of the choice, column by column.
    fn odd_values(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let features = self.schema.features().iter().map(|feature| feature.kind);
        let columns = self.roles.features.iter().zip(features).enumerate();
        for (slot, (column, kind)) in columns {
            let name = &column.name;
            for (word, rows) in &self.texts[name].missing {
                sentences.push(match *word == NONE && kind == FeatureKind::Categorical {
                    true => none_is_a_name(name, *rows),
                    false => {
                        let word = if word.is_empty() { "an empty cell" } else { word };
                        format!("{word} is read as missing: column {} (rows: {rows})", quoted(name))
                    }
                });
            }
            let names: BTreeSet<&str> = self.names(slot).collect();
            let other = names.iter().find(|name| self.is_truth(slot) && truth(name) != **name);
            sentences.extend(other.map(|found| {
                format!(
                    "{found} in column {} is the truth value {}, by which programs ask",
                    quoted(name),
                    truth(found)
                )
            }));
            let statistic = names.iter().find(|name| words::is_statistic(&name.to_lowercase()));
            sentences.extend(statistic.map(|found| {
                let condition = quoted(&format!("{name}!={found}"));
                let found = quoted(found);
                format!(
                    "{found} may be a statistic of other rows: if it is no input, give --where {condition}"
                )
            }));
            if names.len() > 3 && names.iter().all(|name| number::is_shape(name) || is_setting(name)) {
                sentences.push(format!(
                    "column {name} has numbers inside names, so nothing is learned for other numbers: --name-column {name} \
                     --name-pattern makes columns of them"
                ));
            }
            sentences.extend(similar(name, names));
            sentences.extend(self.texts[name].all_grouped(name).filter(|_| kind == FeatureKind::Numerical));
        }
        if let [choice] = &self.roles.choice[..] {
            let rows = self.texts[&choice.name].missing.get(NONE);
            sentences.extend(rows.map(|rows| none_is_a_name(&choice.name, *rows)));
        }
        sentences.extend(similar("the choice", self.choices.iter().map(String::as_str).collect()));
        let columns = self.roles.features.iter().chain(&self.roles.choice);
        sentences.extend(columns.filter_map(|column| self.texts[&column.name].versions(column)));
        sentences
    }

    /// A sentence about rows that give one choice on one input very different times.
    fn contradiction(&self, params: &ImportParams) -> Option<String> {
        // The least and the greatest time of each pair; of the repetitions in a row, the least counts.
        let mut pairs: FxHashMap<(u32, u32), [Time; 2]> = FxHashMap::default();
        for times in self.times.chunk_by(|a, b| (a.row, a.choice) == (b.row, b.choice)) {
            let least = times.iter().copied().min_by(|a, b| a.ms.total_cmp(&b.ms))?;
            let [low, high] = pairs.entry(self.pair(&least)).or_insert([least; 2]);
            if least.ms < low.ms {
                *low = least;
            }
            if least.ms > high.ms {
                *high = least;
            }
        }
        let apart = || pairs.values().filter(|[low, high]| high.ms > APART * low.ms);
        let Some([low, high]) = apart().min_by_key(|[low, high]| low.row.min(high.row)) else {
            return self.explained();
        };
        let place = |time: &Time| {
            let TableRow { table, number, .. } = &self.rows[time.row as usize];
            format!("{}:{}", params.tables[*table as usize].display(), number)
        };
        let unused = listed(self.roles.unused().map(|column| &column.name));
        let others = match &*unused {
            "" => String::new(),
            unused => format!(" Columns without a role: {unused}."),
        };
        Some(format!(
            "rows contradict each other (pairs of an input and a choice: {}). The first: {} takes {:.3} times as long as {}. Is a feature \
             missing from --features?{others}",
            apart().count(),
            place(high),
            high.ms / low.ms,
            place(low),
        ))
    }

    /// The input and the choice of a time.
    fn pair(&self, time: &Time) -> (u32, u32) {
        (self.rows[time.row as usize].input, time.choice)
    }

    /// A sentence about what changes the times of a choice on an input: a column without a role, or the place in a list.
    fn explained(&self) -> Option<String> {
        let times = &self.times[..self.times.len().min(MOST_COMPARED)];
        let is_finite = |time: &&Time| time.ms.is_finite();
        // The sum of the logarithms of each pair, and their number.
        let mut sums: FxHashMap<(u32, u32), (f64, u32)> = FxHashMap::default();
        for time in times.iter().filter(is_finite) {
            let (sum, count) = sums.entry(self.pair(time)).or_default();
            (*sum, *count) = (*sum + ln(time.ms), *count + 1);
        }
        sums.retain(|_, (_, count)| *count > 1);
        let mut deviations = Vec::new();
        for of_list in times.chunk_by(|a, b| (a.row, a.choice) == (b.row, b.choice)) {
            for (place, time) in (0..).zip(of_list).filter(|(_, time)| is_finite(time)) {
                let (input, choice) = self.pair(time);
                if let Some((sum, count)) = sums.get(&(input, choice)) {
                    let log = ln(time.ms) - sum / f64::from(*count);
                    deviations.push(Deviation { row: time.row as usize, input, choice, place, log });
                }
            }
        }
        self.doubts.explanation(&deviations, deviations.len() - sums.len())
    }
}

fn none_is_a_name(column: &str, rows: u64) -> String {
    format!("{NONE} is a name in column {} (rows: {rows}); an empty cell would be missing", quoted(column))
}

/// Whether a name is a number with a name of its own: `bs=64`.
fn is_setting(name: &str) -> bool {
    let (_, value) = name.split_once(['=', ':']).unwrap_or_default();
    ah_types::number(value).is_some()
}

/// A sentence about two names of a column that differ in case or in the signs between their words: they may be one name.
fn similar(column: &str, names: BTreeSet<&str>) -> Option<String> {
    let mut known: FxHashMap<String, &str> = FxHashMap::default();
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let (a, b) = names.into_iter().find_map(|name| Some((known.insert(plain(name), name)?, name)))?;
    Some(format!(
        "{} and {} are two names in {column}: if they are one, write them alike",
        quoted(a),
        quoted(b)
    ))
}
