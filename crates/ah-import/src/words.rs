//! The words by which columns, choices and cells are known. `words.toml` has them, each list with what it means.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// A unit of time that words name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Base {
    Ps,
    Ns,
    Us,
    Ms,
    S,
    Min,
    H,
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
    /// The units of time.
    pub units: Vec<(Base, Vec<String>)>,
    pub rates: Vec<String>,
    pub times: Vec<String>,
    pub long_times: Vec<String>,
    pub runs: Vec<String>,
    pub counted: Vec<String>,
    /// The words for an amount, by its name.
    pub amounts: BTreeMap<String, Vec<String>>,
}

/// Every import looks a word up, and so does every test of one.
pub static WORDS: LazyLock<Words> =
    LazyLock::new(|| toml::from_str(include_str!("words.toml")).expect("words.toml has these lists"));

/// Returns whether a word is in a list.
pub fn is_in(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}
