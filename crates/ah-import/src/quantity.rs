//! What the numbers of a table are: times in a unit, or rates in a unit. The unit beside a number and the unit inside a cell are
//! read here alone.

use std::fmt;

use crate::unit::Unit;
use crate::words::{WORDS, is_in, is_time};

/// What a number is.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    Time(Unit),
    Rate(Rate),
}

/// An amount per time: more is better.
#[derive(Clone, Debug)]
pub struct Rate {
    /// What is counted: `B`, `flop`, `items`; empty for whole runs of the choice.
    amount: String,
    /// So many of `amount`: 1e9 in GB/s.
    factor: f64,
    per: Unit,
    /// The unit as the table has it.
    text: String,
}

/// The factor of a prefix, and the prefixes of powers of two.
fn prefix(text: &str) -> Option<f64> {
    let power = |text: &str| Some(["", "k", "m", "g", "t", "p", "e"].iter().position(|p| *p == text)? as i32);
    let text = text.to_lowercase();
    match text.strip_suffix('i').filter(|text| !text.is_empty()) {
        Some(text) => Some(1024_f64.powi(power(text)?)),
        None => Some(1000_f64.powi(power(&text)?)),
    }
}

/// An amount that a word names, empty for runs of the choice, and how many of it: `GB`, `Mops`.
pub fn known_amount(word: &str) -> Option<(&'static str, f64)> {
    WORDS.amounts.iter().find_map(|(name, ends)| {
        let factor = ends.iter().find_map(|end| prefix(word.strip_suffix(&**end)?))?;
        Some((&**name, factor))
    })
}

/// Whether a word names an amount that is no run of the choice.
pub fn is_counted(word: &str) -> bool {
    known_amount(word).is_some_and(|(amount, _)| !amount.is_empty())
}

impl Rate {
    /// The rate of an amount, whose unit is `text` in the table.
    pub fn new(amount: &str, per: Unit, text: &str) -> Self {
        let lower = amount.to_lowercase();
        let (amount, factor) = match known_amount(amount) {
            _ if is_in(&WORDS.runs, &lower) => ("", 1.0),
            Some(found) => found,
            None => (&*lower, 1.0),
        };
        Self { amount: amount.to_owned(), factor, per, text: text.to_owned() }
    }

    /// The rate of a word such as `TFLOPS`, `fps`, `kHz` or `GBps`.
    pub fn of_word(word: &str) -> Option<Self> {
        let rate = |amount: &str| Some(Self::new(amount, Unit::S, word));
        let lower = word.to_lowercase();
        if let Some(amount) = word.strip_suffix("ps").filter(|amount| is_counted(amount)) {
            return rate(amount);
        }
        let is_flop = lower.len() > 4 && lower.ends_with("flop");
        let is_rate = is_flop || ["flops", "ops", "hz"].iter().any(|end| lower.ends_with(end));
        if is_rate && known_amount(word).is_some() {
            return rate(word);
        }
        let has_prefix = |end: &String| lower.strip_suffix(end.as_str()).and_then(prefix).is_some();
        WORDS.rates.iter().any(has_prefix).then(|| rate(if lower.len() > 4 { &lower } else { "" })).flatten()
    }

    /// Rates in an amount that nothing names.
    pub fn of_unknown(text: &str) -> Self {
        Self { amount: "amount".to_owned(), factor: 1.0, per: Unit::S, text: text.to_owned() }
    }

    /// Whether one of the amount is one run of the choice.
    fn counts_runs(&self) -> bool {
        self.amount.is_empty()
    }

    /// The milliseconds of one run, or of one unit of the first rate's amount.
    fn ms(&self, x: f64, first: Option<&Quantity>) -> f64 {
        let of_first = match first {
            Some(Quantity::Rate(first)) if !self.counts_runs() => first.factor,
            _ => 1.0,
        };
        self.per.ms(1.0) / (x * (self.factor / of_first))
    }
}

impl PartialEq for Rate {
    fn eq(&self, other: &Self) -> bool {
        (&self.amount, self.factor, self.per) == (&other.amount, other.factor, other.per)
    }
}

impl Quantity {
    /// Rates whose unit nothing names.
    pub fn any_rate() -> Self {
        Self::Rate(Rate::of_unknown(""))
    }

    /// The quantity that a unit means: `us`, `ns/op`, `ops/ms`, `GB/s`, `TFLOPS`.
    pub fn of_unit(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['(', ')', '[', ']']).trim();
        if let Some(unit) = Unit::of_word(text) {
            return Some(Self::Time(unit));
        }
        let lower = text.to_lowercase();
        let at =
            text.rfind('/').map(|at| (at, at + 1)).or_else(|| lower.find(" per ").map(|at| (at, at + 5)));
        let Some((amount, per)) =
            at.and_then(|(end, begin)| Some((text.get(..end)?.trim(), text.get(begin..)?.trim())))
        else {
            return Rate::of_word(text).map(Self::Rate);
        };
        match (Unit::of_word(amount), Unit::of_word(per)) {
            (None, Some(unit)) if is_time(amount) => Some(Self::Time(unit)),
            (None, Some(per)) => Some(Self::Rate(Rate::new(amount, per, text))),
            // A time of one call, or of one element; not the nanoseconds that one day simulates.
            (Some(unit), None)
                if per.starts_with(char::is_alphabetic) && !is_in(&WORDS.long_times, &per.to_lowercase()) =>
            {
                Some(Self::Time(unit))
            }
            // Of each device: `tokens/s/GPU`.
            (None, None) if amount.contains('/') => Self::of_unit(amount),
            _ => None,
        }
    }

    /// The unit of rates that do not count runs: nobody knows how much one run does.
    pub fn unknown_amount(&self) -> Option<String> {
        match self {
            Self::Rate(rate) if !rate.counts_runs() => {
                Some(if rate.text.is_empty() { "rates".to_owned() } else { rate.text.clone() })
            }
            _ => None,
        }
    }

    /// Whether both may stand in one table: rates of one amount, or times and rates of runs.
    pub fn agrees(&self, first: &Self) -> bool {
        let [amount, of_first] = [self, first].map(|quantity| match quantity {
            Self::Rate(rate) => &*rate.amount,
            Self::Time(_) => "",
        });
        amount == of_first
    }

    /// The milliseconds that a number means: of a rate, those of one run, or of the amount in the first rate of the table.
    pub fn ms(&self, x: f64, first: Option<&Self>) -> f64 {
        match self {
            Self::Time(unit) => unit.ms(x),
            Self::Rate(rate) => rate.ms(x, first),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(unit) => unit.fmt(f),
            Self::Rate(rate) if rate.text.is_empty() => f.write_str("rates"),
            Self::Rate(rate) => write!(f, "rates ({})", rate.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str, of_a_thousand: f64) -> bool {
        matches!(Quantity::of_unit(text), Some(quantity @ Quantity::Rate(_)) if quantity.ms(1000.0, None) == of_a_thousand)
    }

    #[test]
    fn a_unit_is_a_time_or_a_rate() {
        for (text, ms) in [
            ("ps", 1e-9),
            ("ns", 1e-6),
            ("us", 1e-3),
            ("µs", 1e-3),
            ("μs", 1e-3),
            ("ms", 1.0),
            ("s", 1e3),
            ("sec", 1e3),
            ("min", 6e4),
            ("h", 3.6e6),
            ("us/op", 1e-3),
            ("ns/iter", 1e-6),
            ("ns per call", 1e-6),
            ("miliseconds", 1.0),
        ] {
            let found = Quantity::of_unit(text);
            assert!(matches!(found, Some(Quantity::Time(unit)) if unit.ms(1.0) == ms), "{text}: {found:?}");
        }
        // Milliseconds of one run.
        for (text, ms) in [
            ("ops/s", 1.0),
            ("ops/ms", 1e-3),
            ("ops/us", 1e-6),
            ("op/min", 60.0),
            ("calls per second", 1.0),
            ("Hz", 1.0),
            ("kHz", 1e-3),
            ("fps", 1.0),
            ("it/s", 1.0),
            ("req/sec", 1.0),
            ("Mops/s", 1e-6),
        ] {
            assert!(
                rate(text, ms),
                "{text}: {:?}",
                Quantity::of_unit(text).map(|quantity| quantity.ms(1000.0, None))
            );
        }
        for text in
            ["GB/s", "MB/sec", "GiB/s", "Gbps", "GBps", "TFLOPS", "GFLOP/s", "tok/s", "items/s", "Gelem/s"]
        {
            assert!(
                matches!(Quantity::of_unit(text), Some(Quantity::Rate(rate)) if !rate.counts_runs()),
                "{text}"
            );
        }
        for text in ["", "MB", "x", "%", "cycles", "ticks", "J", "ops/cycle", "fs", "1/2", "ns/1000"] {
            assert_eq!(Quantity::of_unit(text), None, "{text}");
        }
    }

    #[test]
    fn rates_of_one_amount_are_taken_beside_the_first() {
        let [giga, mega, bits, per_ms] =
            ["GB/s", "MB/s", "Gbit/s", "GB/ms"].map(|text| Quantity::of_unit(text).unwrap());
        assert!(mega.agrees(&giga) && !bits.agrees(&giga) && !Quantity::Time(Unit::NS).agrees(&giga));
        assert_eq!(
            (giga.ms(2.0, Some(&giga)), mega.ms(2000.0, Some(&giga)), per_ms.ms(2.0, Some(&giga))),
            (500.0, 500.0, 0.5)
        );
        let [seconds, millis] = ["ops/s", "ops/ms"].map(|text| Quantity::of_unit(text).unwrap());
        assert_eq!((seconds.ms(2000.0, Some(&millis)), millis.ms(2.0, Some(&millis))), (0.5, 0.5));
        assert!(seconds.agrees(&Quantity::Time(Unit::US)), "both are the time of a run");
    }
}
