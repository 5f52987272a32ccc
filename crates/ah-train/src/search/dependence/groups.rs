//! Groups of inputs before it is known whether they matter, and how large they are.

use rustc_hash::FxHashMap;

use crate::data::Shared;

/// The share of the inputs that must have a fellow.
pub(super) const LEAST_SHARE: f64 = 0.6;
/// The most groups, as a share of those of shuffled columns. Pairs have half of them, full grids 0.9 to 1.
pub(super) const MOST_OF_SHUFFLED: f64 = 0.7;
/// The largest share of the inputs in one cluster. Where more are connected, the reach is as great as the gaps are: lists of all
/// lengths whose `ascending` is 0 or 1 became two of four clusters.
pub(super) const MOST_OF_ONE: f64 = 0.25;
/// Below this many groups a single number is a factor: whoever measured chose its values, and the promise is for these.
pub(super) const MANY_GROUPS: usize = 20;

/// Groups of the usable inputs, before it is known whether they matter.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) keys: Vec<u64>,
    pub(super) shared: Shared,
}

/// How large groups are.
pub(super) struct Sizes {
    pub(super) groups: usize,
    /// The share of the inputs that have a fellow.
    pub(super) with_fellow: f64,
    /// The share of the inputs in the largest one.
    pub(super) largest: f64,
    pub(super) inputs: f64,
    /// The sum of the squared sizes.
    pub(super) squares: f64,
}

impl Sizes {
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
