//! Rows with the same features and the same choice are repetitions. If their times differ greatly, they
//! more likely belong to different inputs, and a feature that distinguishes these was not given.

use rustc_hash::FxHashMap;

/// Times of one choice on one input that differ by more than this factor are not repetitions.
const APART: f64 = 2.0;

/// Pairs beyond this many are not followed: 900,000 take about 60 MB.
const MOST: usize = 900_000;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_far_apart_contradict_each_other() {
        let mut repetitions = Repetitions::default();
        for (pair, ms, row) in [
            ((1, 0), 1.0, 2),
            ((1, 0), 1.9, 3),
            ((1, 1), 5.0, 4),
            ((2, 0), 9.0, 5),
            ((2, 1), 3.0, 6),
            ((2, 1), 1.0, 7),
            ((1, 1), f64::INFINITY, 8),
        ] {
            repetitions.add(pair, ms, (0, row));
        }
        let first = Spread { least: (5.0, (0, 4)), greatest: (f64::INFINITY, (0, 8)) };
        assert_eq!(repetitions.contradictions(), Some((2, first)));
    }
}
