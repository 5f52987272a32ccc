//! Which choices are expected to fail: those that need more shared memory than there is, say. Learned from what failed.

use crate::boost::{BoostedTrees, Boosting};
use crate::columns::{Coding, Column, Numbers};
use crate::grow::Sample;
use crate::rows::{Coded, Timing, thinned};

/// Most outcomes to learn from.
const MAX_ROWS: usize = 60_000;
const BOOSTING: Boosting =
    Boosting { trees: 40, leaves: 31, min_rows: 5, rate: 0.3, row_share: 1.0, column_share: 1.0 };
/// A choice is left out from this probability on.
const LIKELY: f64 = 0.5;

/// A model of the outcomes.
#[derive(Debug)]
pub struct Failures {
    coding: Coding,
    trees: BoostedTrees,
    /// The share of the outcomes that are failures.
    share: f64,
}

impl Failures {
    /// Learns from the outcomes of these timings; `None` if nothing failed.
    pub fn fit(numbers: &Numbers, columns: &[Column], timings: &[Timing], seed: u64) -> Option<Self> {
        let has_failed = |t: &Timing| t.log_time == f64::INFINITY;
        if !timings.iter().any(has_failed) {
            return None;
        }
        let outcomes = thinned(timings, MAX_ROWS, seed);
        let share = outcomes.iter().filter(|t| has_failed(t)).count() as f64 / outcomes.len().max(1) as f64;
        let target = |t: &Timing| f64::from(u8::from(has_failed(t)));
        let coded = Coded::new(columns.to_vec(), numbers, &outcomes, target);
        let even = vec![1; outcomes.len()];
        // One group: a choice that always fails must not count as its inputs' level.
        let groups = vec![0; outcomes.len()];
        let sample = Sample { groups: &groups, ..coded.sample(&coded.targets, &even) };
        let (trees, _) = BOOSTING.fit(&sample, seed);
        Some(Self { coding: coded.coding, trees, share })
    }

    /// Returns whether a choice is expected to fail on an input.
    pub fn fails(&self, numbers: &Numbers, input: u32, choice: u32) -> bool {
        let mut codes = vec![0; self.coding.width()];
        self.coding.encode(numbers, input, choice, &mut codes);
        self.share + self.trees.predict(&codes) > LIKELY
    }
}
