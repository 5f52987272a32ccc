//! Units of time.

use std::fmt;
use std::str::FromStr;

use crate::words::WORDS;

/// A unit of time, or a number of one: `ns`, or `0.4ns` for the cycles of 2.5 GHz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    count: f64,
    /// Its position among the units of `words.toml`.
    at: usize,
}

impl Unit {
    /// Nanoseconds.
    pub const NS: Self = Self { count: 1.0, at: 1 };
    /// Microseconds.
    pub const US: Self = Self { count: 1.0, at: 2 };
    /// Milliseconds.
    pub const MS: Self = Self { count: 1.0, at: 3 };
    /// Seconds.
    pub const S: Self = Self { count: 1.0, at: 4 };

    /// The unit of this word, in any case.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        let word = word.to_lowercase();
        let at = WORDS.units.iter().position(|unit| unit.words.contains(&word))?;
        Some(Self { count: 1.0, at })
    }

    /// The milliseconds of `x` of this unit.
    pub(crate) fn ms(self, x: f64) -> f64 {
        let x = x * self.count;
        let unit = &WORDS.units[self.at];
        if unit.per_ms > 0.0 {
            // Divides, because 1000 is exact in f64 and 0.001 is not.
            return x / unit.per_ms;
        }
        // A product would show that decimals are not exact: 1e-9 s is 1.0000000000000002e-6 ms.
        let x = x * unit.seconds;
        format!("{x}e3").parse().unwrap_or(x)
    }
}

impl Default for Unit {
    fn default() -> Self {
        Self::MS
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
        let (count, word) = text.split_at(at);
        let count = if count.is_empty() { Some(1.0) } else { ah_types::number(count) };
        let unit = Self::of_word(word).zip(count.filter(|count| *count > 0.0 && count.is_finite()));
        unit.map(|(unit, count)| Self { count, ..unit }).ok_or_else(|| {
            "expected ps, ns, us, ms, s, min or h, or a number of one (0.4ns for the cycles of 2.5 GHz)"
                .to_owned()
        })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count != 1.0 {
            write!(f, "{} ", self.count)?;
        }
        f.write_str(&WORDS.units[self.at].words[0])
    }
}
