//! The words by which columns, choices and cells are known. `words.toml` has them, each list with what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;

/// A unit of time that words name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct UnitWords {
    /// How many are a millisecond; 0 for longer units.
    pub per_ms: f64,
    /// How many seconds a longer unit is.
    pub seconds: f64,
    pub words: Vec<String>,
}

/// The lists of `words.toml`, which describes each.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    pub good_names: Vec<String>,
    pub bad_names: Vec<String>,
    pub neutral_names: Vec<String>,
    pub error_names: Vec<String>,
    pub good_values: Vec<String>,
    pub bad_values: Vec<String>,
    pub devices: Vec<String>,
    pub device_endings: Vec<String>,
    pub statistics: Vec<String>,
    pub spreads: Vec<String>,
    pub figures: Vec<String>,
    pub behind_units: Vec<String>,
    pub no_times: Vec<String>,
    pub derived: Vec<String>,
    pub labels: Vec<String>,
    pub counts: Vec<String>,
    /// The units of time.
    pub units: Vec<UnitWords>,
    pub rates: Vec<String>,
    pub times: Vec<String>,
    pub long_times: Vec<String>,
    pub runs: Vec<String>,
    pub types: Vec<String>,
    pub counted: Vec<String>,
    /// The words for an amount, by its name.
    pub amounts: BTreeMap<String, Vec<String>>,
}

/// Every import looks a word up, and so does every test of one.
pub static WORDS: LazyLock<Words> =
    LazyLock::new(|| toml::from_str(include_str!("words.toml")).expect("words.toml has these lists"));

/// Whether a word is in a list.
pub fn is_in(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}

/// The words of a name: `meanTimeNs`, `mean_time_ns` and `mean time, ns` have three.
pub fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let mut begin = 0;
        for ((_, a), (at, b)) in part.char_indices().zip(part.char_indices().skip(1)) {
            if a.is_lowercase() && b.is_uppercase() && at - begin > 1 {
                words.push(&part[begin..at]);
                begin = at;
            }
        }
        words.push(&part[begin..]);
    }
    words
}

/// Whether a word in small letters is a statistic of times, and a time itself.
pub fn is_statistic(word: &str) -> bool {
    let percentile = word.strip_prefix('p').unwrap_or_default();
    is_in(&WORDS.statistics, word) || percentile.len() > 1 && percentile.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a word in small letters is a statistic of how far times differ: `stddev`, `ci95`.
pub fn is_spread(word: &str) -> bool {
    is_in(&WORDS.spreads, word.trim_matches(|c: char| c.is_ascii_digit()))
}

/// Whether the end of a name is a figure: ` (p99)`, `_mean`, `/real_time`.
pub fn is_figure(end: &str) -> bool {
    let word: String = end.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    is_statistic(&word) || is_spread(&word) || is_in(&WORDS.figures, &word)
}

/// The word of a name that is a statistic of how far times differ, unless they are beside it: `mean ± std`.
pub fn spread(name: &str) -> Option<&str> {
    words(name).into_iter().find(|word| is_spread(&word.to_lowercase())).filter(|_| !name.contains('±'))
}

/// The first names that differ in statistics alone, or that are nothing else: `sort_mean` and `p99 sort`, or `total`.
pub fn statistics_of_one<'n>(names: impl IntoIterator<Item = &'n String>) -> Vec<&'n String> {
    let mut stems: IndexMap<_, (Vec<&String>, bool)> = IndexMap::new();
    for name in names {
        let lower = words(name).into_iter().map(str::to_lowercase);
        let (stem, statistics): (Vec<_>, Vec<_>) =
            lower.partition(|word| !is_statistic(word) && !is_spread(word));
        let (alike, has_statistic) = stems.entry(stem).or_default();
        alike.push(name);
        *has_statistic |= !statistics.is_empty();
    }
    let is_alone = |name: &&String| words(name).iter().all(|word| is_statistic(&word.to_lowercase()));
    let found =
        stems.into_values().find(|(alike, has)| *has && (alike.len() > 1 || alike.iter().all(is_alone)));
    found.map(|(alike, _)| alike).unwrap_or_default()
}

/// Whether names are several stems that all have the same numbers behind them, from 0 or 1 on, so that these may count repetitions:
/// `a_1`, `a_2`, `b_1`, `b_2`, or `a`, `a.1`, `b`, `b.1` as pandas names columns of one name.
pub fn repetitions<'n>(names: &'n [String]) -> bool {
    let parts = |name: &'n String| {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name[stem.len()..].parse::<u32>().unwrap_or_default();
        (stem.trim_end_matches(['_', '-', '.', ' ', '#']), number)
    };
    let is_counted = |numbers: BTreeSet<u32>| {
        [0, 1].iter().any(|from| numbers.iter().copied().eq(*from..*from + numbers.len() as u32))
    };
    shared_marks(names.iter().map(parts)).is_some_and(is_counted)
}

/// The marks of several stems, if each has the same several ones.
fn shared_marks<S: Ord, M: Ord>(parts: impl Iterator<Item = (S, M)>) -> Option<BTreeSet<M>> {
    let mut stems: BTreeMap<S, BTreeSet<M>> = BTreeMap::new();
    for (stem, mark) in parts {
        stems.entry(stem).or_default().insert(mark);
    }
    let (_, first) = stems.pop_first()?;
    let is_shared = first.len() > 1 && !stems.is_empty() && stems.values().all(|marks| *marks == first);
    is_shared.then_some(first)
}

/// Whether names are several stems that each have the same types of numbers: `a fp16`, `a fp32`, `b fp16`, `b fp32`.
pub fn types(names: &[String]) -> bool {
    let is_type = |word: &String| {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        is_in(&WORDS.types, stem) && (stem.len() > 3 || stem != word)
    };
    let parts = |name: &String| -> (Vec<String>, Vec<String>) {
        words(name).into_iter().map(str::to_lowercase).partition(|word| !is_type(word))
    };
    shared_marks(names.iter().map(parts)).is_some()
}

/// Whether a name is that of a number which labels a row or an input: `run_id`, `Unnamed: 0`.
pub fn is_label(name: &str) -> bool {
    let last = words(name).into_iter().rfind(|word| !word.bytes().all(|b| b.is_ascii_digit()));
    last.is_some_and(|word| is_in(&WORDS.labels, &word.to_lowercase()))
}

/// Whether a text names a time without its unit, or a statistic of times.
pub fn is_time(text: &str) -> bool {
    let last = words(text).pop().unwrap_or_default().to_lowercase();
    is_in(&WORDS.times, &last) || is_statistic(&last)
}

/// Whether a word may follow a unit.
pub fn may_follow_a_unit(word: &str) -> bool {
    let lower = word.to_lowercase();
    let is_number = word.bytes().all(|b| b.is_ascii_digit() || b == b'%');
    is_number || is_statistic(&lower) || is_in(&WORDS.behind_units, &lower)
}
