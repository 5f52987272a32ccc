//! Rows with the same features and the same choice are repetitions. If their times differ greatly, they
//! more likely belong to different inputs, and a feature that distinguishes these was not given.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

/// Times of one choice on one input that differ by more than this factor are not repetitions.
const APART: f64 = 2.0;

/// Pairs beyond this many are not followed: 900,000 take about 45 MB.
const MOST: usize = 900_000;

/// (Index of the table, number of the row).
pub type RowId = (u32, u64);

/// The times of one choice on one input, over all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub least: f64,
    pub least_row: RowId,
    pub greatest: f64,
    pub greatest_row: RowId,
}

/// The times of each choice on each input: the first 900,000 such pairs.
#[derive(Debug, Default)]
pub struct Repetitions {
    pairs: FxHashMap<u64, Spread>,
}

impl Repetitions {
    /// Adds the least time that a row gives for a choice; infinite if it failed.
    pub fn add(&mut self, features: &str, choice: &str, ms: f64, row: RowId) {
        let mut hasher = FxHasher::default();
        hasher.write(features.as_bytes());
        hasher.write_u8(b'\n');
        hasher.write(choice.as_bytes());
        let key = hasher.finish();
        if let Some(spread) = self.pairs.get_mut(&key) {
            if ms < spread.least {
                (spread.least, spread.least_row) = (ms, row);
            }
            if ms > spread.greatest {
                (spread.greatest, spread.greatest_row) = (ms, row);
            }
        } else if self.pairs.len() < MOST {
            self.pairs.insert(key, Spread { least: ms, least_row: row, greatest: ms, greatest_row: row });
        }
    }

    /// Returns the number of pairs whose rows contradict each other, and the first of them in the order of
    /// rows.
    pub fn contradictions(&self) -> Option<(usize, Spread)> {
        let apart = || self.pairs.values().filter(|spread| spread.greatest > APART * spread.least);
        let first = apart().min_by_key(|spread| spread.least_row.min(spread.greatest_row))?;
        Some((apart().count(), *first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_far_apart_contradict_each_other() {
        let mut repetitions = Repetitions::default();
        for (features, choice, ms, row) in [
            ("1", "a", 1.0, 2),
            ("1", "a", 1.9, 3),
            ("1", "b", 5.0, 4),
            ("2", "a", 9.0, 5),
            ("2", "b", 3.0, 6),
            ("2", "b", 1.0, 7),
            ("1", "b", f64::INFINITY, 8),
        ] {
            repetitions.add(features, choice, ms, (0, row));
        }
        let (count, first) = repetitions.contradictions().unwrap();
        assert_eq!(count, 2);
        let expected =
            Spread { least: 5.0, least_row: (0, 4), greatest: f64::INFINITY, greatest_row: (0, 8) };
        assert_eq!(first, expected);
    }
}
