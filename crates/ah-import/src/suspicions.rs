//! What is probably a mistake, though every row can be read: repetitions that contradict each other, and times in another
//! unit than the assumed one.

use rustc_hash::FxHashMap;

/// Times of one choice on one input that differ by more than this factor are not repetitions: they more likely belong to
/// different inputs, and a feature that distinguishes these was not given.
const APART: f64 = 2.0;

/// Pairs beyond this many are not followed: 900,000 take about 60 MB.
const MOST: usize = 900_000;

/// Hardly anything worth choosing for takes less than these milliseconds: 5 ns.
const SHORT_MS: f64 = 5e-6;

/// (Index of the table, number of the row).
pub type RowId = (usize, u64);

/// The times of one choice on one input, over all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub least: (f64, RowId),
    pub greatest: (f64, RowId),
}

/// The times of each pair of an input and a choice: the first 900,000 such pairs.
#[derive(Debug, Default)]
pub struct Repetitions(FxHashMap<(u32, u32), Spread>);

impl Repetitions {
    /// Adds the least time that a row gives for a pair; infinite if the choice failed.
    pub fn add(&mut self, pair: (u32, u32), ms: f64, row: RowId) {
        if let Some(spread) = self.0.get_mut(&pair) {
            if ms < spread.least.0 {
                spread.least = (ms, row);
            }
            if ms > spread.greatest.0 {
                spread.greatest = (ms, row);
            }
        } else if self.0.len() < MOST {
            self.0.insert(pair, Spread { least: (ms, row), greatest: (ms, row) });
        }
    }

    /// Returns the number of pairs whose rows contradict each other, and the first of them in the order of
    /// rows.
    pub fn contradictions(&self) -> Option<(usize, Spread)> {
        let apart = || self.0.values().filter(|spread| spread.greatest.0 > APART * spread.least.0);
        let first = apart().min_by_key(|spread| spread.least.1.min(spread.greatest.1))?;
        Some((apart().count(), *first))
    }
}

/// Returns whether most of these times are so short that they are probably in another unit.
pub fn are_mostly_short(ms: impl Iterator<Item = f64>) -> bool {
    let (mut short, mut all) = (0, 0);
    for ms in ms.filter(|ms| ms.is_finite()) {
        all += 1;
        short += usize::from(ms < SHORT_MS);
    }
    2 * short > all
}
