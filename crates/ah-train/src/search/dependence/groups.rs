//! Groups of inputs before it is known whether they matter, and how large they are.

use ah_types::random::mix;
use rustc_hash::FxHashMap;

use super::column::Column;
use crate::data::Shared;

/// The share of the inputs that must have a fellow.
const LEAST_SHARE: f64 = 0.6;
/// The most groups, as a share of those of shuffled columns. Pairs have half of them, full grids 0.9 to 1.
pub(super) const MOST_OF_SHUFFLED: f64 = 0.7;
/// The largest share of the inputs in one cluster. Where more are connected, the reach is as great as the gaps are: lists of all
/// lengths whose `ascending` is 0 or 1 became two of four clusters.
pub(super) const MOST_OF_ONE: f64 = 0.25;
/// Below this many groups a single number is a factor: the person who measured chose its values, and the promise is for these.
pub(super) const MANY_GROUPS: usize = 20;

/// Groups of the usable inputs, before it is known whether they matter.
pub(super) struct Candidate {
    pub(super) keys: Vec<u64>,
    pub(super) shared: Shared,
    pub(super) sizes: Sizes,
    /// The number of independent inputs.
    pub(super) independent: f64,
}

impl Candidate {
    /// Groups that count as one input each.
    pub(super) fn new(keys: Vec<u64>, shared: Shared) -> Self {
        let sizes = sizes_of(&keys);
        Self { independent: sizes.independent(1.0), keys, shared, sizes }
    }

    /// Groups of equal values in these columns.
    pub(super) fn of_columns(set: &[&Column]) -> Self {
        let names = set.iter().map(|column| column.name.clone()).collect();
        Self::new(codes(set), Shared::Columns(names))
    }

    /// Of candidates, the one that leaves the fewest independent inputs.
    pub(super) fn fewest(candidates: impl Iterator<Item = Self>) -> Option<Self> {
        candidates.min_by(|a, b| a.independent.total_cmp(&b.independent))
    }
}

/// The code of each row; of several columns a hash of their codes.
pub(super) fn codes(set: &[&Column]) -> Vec<u64> {
    match set {
        [only] => only.codes.clone(),
        _ => hashes(set, |column, row| column.codes[row]),
    }
}

/// The number of groups of equal values in these columns if each were shuffled.
pub(super) fn groups_of_shuffled(set: &[&Column]) -> usize {
    sizes_of(&hashes(set, |column, row| column.shuffled[row].to_bits())).groups
}

fn hashes(set: &[&Column], number: impl Fn(&Column, usize) -> u64) -> Vec<u64> {
    let hash = |row| set.iter().fold(0, |hash, column| mix(hash, number(column, row)));
    (0..set[0].codes.len()).map(hash).collect()
}

/// How large groups are.
pub(super) struct Sizes {
    pub(super) groups: usize,
    /// The share of the inputs that have a fellow.
    with_fellow: f64,
    /// The share of the inputs in the largest one.
    pub(super) largest: f64,
    inputs: f64,
    /// The sum of the squared sizes.
    squares: f64,
}

impl Sizes {
    /// Whether enough inputs have a fellow.
    pub(super) fn recur(&self) -> bool {
        self.with_fellow >= LEAST_SHARE
    }

    /// The number of independent inputs where this share of an input is common to its group.
    pub(super) fn independent(&self, common: f64) -> f64 {
        self.inputs / (1.0 + common.clamp(0.0, 1.0) * (self.squares / self.inputs - 1.0))
    }
}

pub(super) fn sizes_of(keys: &[u64]) -> Sizes {
    let mut sizes: FxHashMap<u64, usize> = FxHashMap::default();
    keys.iter().for_each(|&key| *sizes.entry(key).or_default() += 1);
    let share = |inputs: usize| inputs as f64 / keys.len().max(1) as f64;
    Sizes {
        groups: sizes.len(),
        with_fellow: share(sizes.values().filter(|size| **size > 1).sum()),
        largest: share(sizes.values().copied().max().unwrap_or(0)),
        inputs: keys.len() as f64,
        squares: sizes.values().map(|size| (*size as f64).powi(2)).sum(),
    }
}
