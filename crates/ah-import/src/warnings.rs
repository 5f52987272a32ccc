//! What an import tells its user about the tables, in sentences: what is assumed, what is left out, and what may be read in another way.

use std::collections::BTreeSet;

use ah_model::FeatureKind;
use ah_model::shown::{listed, quoted};
use rustc_hash::FxHashMap;

use crate::cell::{NONE, truth};
use crate::column::is_named;
use crate::contents::{Contents, Time};
use crate::number;
use crate::params::ImportParams;
use crate::times::split_unit;
use crate::watched::{Watched, shell};
use crate::words;

/// The same greatest time in several rows may be a failure or a limit where it is this many times all others.
const LIMIT: f64 = 10.0;

impl Contents {
    /// All sentences, what is assumed first.
    pub fn warnings(&self, params: &ImportParams) -> Vec<String> {
        let names_device = params.device.is_some() || params.device_capa.is_some();
        let mut warnings: Vec<String> = self.assumed_unit().into_iter().collect();
        warnings.extend(self.unfound(params));
        warnings.extend(self.left_out());
        warnings.extend(self.limit());
        warnings.extend(self.odd_values());
        warnings.extend(self.validity());
        warnings.extend(self.counts());
        warnings.extend(self.statistics());
        warnings.extend(self.differences(params));
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

    /// The row with the least time of each input.
    fn fastest_rows(&self) -> Vec<usize> {
        let mut fastest: Vec<Option<Time>> = vec![None; self.inputs.len()];
        for time in self.times.iter().filter(|time| time.ms.is_finite()) {
            let fastest = &mut fastest[self.input(time) as usize];
            if fastest.is_none_or(|least| time.ms < least.ms) {
                *fastest = Some(*time);
            }
        }
        fastest.into_iter().flatten().map(|time| time.row as usize).collect()
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
            let column = quoted(name);
            for (word, rows) in &self.texts[name].missing {
                if *word == NONE && kind == FeatureKind::Categorical {
                    sentences.push(none_is_a_name(name, *rows));
                    continue;
                }
                let word = if word.is_empty() { "an empty cell" } else { word };
                sentences.push(format!("{word} is read as missing: column {column} (rows: {rows})"));
            }
            let names: BTreeSet<&str> = self.names(slot).collect();
            if let Some(found) = names.iter().find(|name| self.is_truth(slot) && truth(name) != **name) {
                let truth = truth(found);
                sentences.push(format!(
                    "{found} in column {column} is the truth value {truth}, by which programs ask"
                ));
            }
            if let Some(found) = names.iter().find(|name| words::is_statistic(&name.to_lowercase())) {
                sentences.push(format!(
                    "{} may be a statistic of other rows: if it is no input, give --where {}",
                    quoted(found),
                    quoted(&format!("{name}!={found}"))
                ));
            }
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
        for column in self.roles.features.iter().chain(&self.roles.choice) {
            let texts = &self.texts[&column.name];
            sentences.extend(texts.versions(column));
            if let Some(spaced) = &texts.spaced {
                let [spaced, name, column] = [spaced, spaced.trim(), &column.name].map(quoted);
                sentences.push(format!(
                    "{spaced} in column {column} is read as {name}: programs must ask without the spaces around it"
                ));
            }
        }
        sentences
    }

    /// Sentences about columns without a role that probably say whether a row is valid, but for those that conditions are on.
    fn validity(&self) -> Vec<String> {
        let asked = self.roles.all_conditions().filter(|of| self.conditions[&of.text].is_found);
        let asked: Vec<&str> = asked.map(|of| &*of.column.name).collect();
        let is_open = |watched: &&Watched| !asked.iter().any(|name| is_named(&watched.name, name));
        let fastest = self.fastest_rows();
        let untimed = self.rows_without_times();
        let input_of = |row: usize| self.rows[row].input;
        let open = self.watched.values().filter(is_open);
        open.flat_map(|watched| watched.validity(&fastest, &untimed, input_of)).collect()
    }

    /// A sentence for each column that counts the runs in the times, if their column has the name of a total.
    fn counts(&self) -> Vec<String> {
        let time = &self.roles.times[0].column.name;
        let is_total = |word: &&str| ["total", "sum", "measured"].contains(&&*word.to_lowercase());
        if !words::words(time).iter().any(is_total) {
            return Vec::new();
        }
        let sentence = |Watched { name, .. }: &Watched| {
            format!(
                "rows differ in {name}: if {} is a total of that many runs, divide it first",
                quoted(time)
            )
        };
        self.watched.values().filter(|watched| watched.counts_runs()).map(sentence).collect()
    }

    /// A sentence about choices that are statistics of another choice, such as `sort:p0.50` beside `sort`, or of all, such as
    /// `total`.
    fn statistics(&self) -> Option<String> {
        let [column] = &self.roles.choice[..] else { return None };
        let choices = &self.choices;
        let of = |name: &str| {
            let begins_figure = |at: usize| {
                let (before, end) = name.split_at(at);
                let is_one = end.starts_with([':', '·', '@'])
                    || end.starts_with(['_', '/', '.', '-', ' ', '(', '[']) && words::is_figure(end);
                choices.get(before).filter(|_| is_one)
            };
            name.char_indices().skip(1).find_map(|(at, _)| begins_figure(at))
        };
        let mut found: Vec<_> = choices.iter().filter_map(|name| Some((name, of(name)?))).collect();
        if found.is_empty() {
            let alike = words::statistics_of_one(choices);
            let other = |name: &&String| {
                choices.iter().find(|other| other != name && (alike.len() == 1 || alike.contains(other)))
            };
            found = alike.iter().filter_map(|name| Some((*name, other(name)?))).collect();
        }
        let (first, of_first) = found.first()?;
        let is_colon = first.strip_prefix(&**of_first).is_some_and(|end| end.starts_with(':'));
        let pattern = if is_colon { "*:*" } else { first };
        Some(format!(
            "choices that look like statistics of another one: {}, for example {} beside {}. If they are no choices, give --where {}",
            found.len(),
            quoted(first),
            quoted(of_first),
            shell(&format!("{}!={pattern}", column.name)),
        ))
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
    let [a, b] = [a, b].map(quoted);
    Some(format!("{a} and {b} are two names in {column}: if they are one, write them alike"))
}
