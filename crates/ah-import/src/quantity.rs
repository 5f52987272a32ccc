//! What the numbers of a table are: times in a unit, rates in a unit, or a question to the user. The name of a column, the unit
//! beside a number and the unit inside a cell are read here alone.

use std::fmt;

use crate::unit::Unit;
use crate::words::{WORDS, is_in};

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

/// What the name of a column says about its numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Named {
    Quantity(Quantity),
    /// This part of the name may be a unit, and is none that we know.
    Question(String),
    Nothing,
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

/// Returns an amount that a word names, empty for runs of the choice, and how many of it: `GB`, `Mops`.
fn known_amount(word: &str) -> Option<(&'static str, f64)> {
    let amounts = WORDS.amounts.iter();
    let known =
        amounts.flat_map(|(name, words)| words.iter().map(move |word| (word.as_str(), name.as_str())));
    known.filter_map(|(end, name)| Some((name, prefix(word.strip_suffix(end)?)?))).next()
}

/// Returns whether a word names an amount that is no run of the choice.
fn is_counted(word: &str) -> bool {
    known_amount(word).is_some_and(|(amount, _)| !amount.is_empty())
}

impl Rate {
    fn new(amount: &str, per: Unit, text: &str) -> Self {
        let lower = amount.to_lowercase();
        let (amount, factor) = match known_amount(amount) {
            _ if is_in(&WORDS.runs, &lower) => ("", 1.0),
            Some(found) => found,
            None => (&*lower, 1.0),
        };
        Self { amount: amount.to_owned(), factor, per, text: text.to_owned() }
    }

    /// Returns the rate of a word such as `TFLOPS`, `fps`, `kHz` or `GBps`.
    fn of_word(word: &str) -> Option<Self> {
        let rate = |amount: &str| Some(Self::new(amount, Unit::S, word));
        let lower = word.to_lowercase();
        if let Some(amount) = word.strip_suffix("ps").filter(|amount| is_counted(amount)) {
            return rate(amount);
        }
        for (end, amount) in [("flops", "flop"), ("flop", "flop"), ("ops", "op"), ("hz", "Hz")] {
            if let Some(start) = lower.strip_suffix(end)
                && prefix(start).is_some()
                && (end != "flop" || !start.is_empty())
            {
                return rate(&format!("{start}{amount}"));
            }
        }
        let has_prefix = |end: &String| lower.strip_suffix(end.as_str()).and_then(prefix).is_some();
        WORDS.rates.iter().any(has_prefix).then(|| rate(if lower.len() > 4 { &lower } else { "" })).flatten()
    }

    /// Returns whether one of the amount is one run of the choice.
    fn counts_runs(&self) -> bool {
        self.amount.is_empty()
    }

    /// Returns the milliseconds of one run, or of one unit of the first rate's amount.
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
        Self::Rate(Rate::new("", Unit::S, ""))
    }

    /// Returns what a unit says: `us`, `ns/op`, `ops/ms`, `GB/s`, `TFLOPS`.
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
            (Some(unit), None) if !per.is_empty() && !is_in(&WORDS.long_times, &per.to_lowercase()) => {
                Some(Self::Time(unit))
            }
            // Of each device: `tokens/s/GPU`.
            (None, None) if amount.contains('/') => Self::of_unit(amount),
            _ => None,
        }
    }

    /// Returns whether both may stand in one table: rates of one amount, or times and rates of runs.
    pub fn agrees(&self, first: &Self) -> bool {
        let amount = |quantity: &Self| match quantity {
            Self::Rate(rate) => rate.amount.clone(),
            Self::Time(_) => String::new(),
        };
        amount(self) == amount(first)
    }

    /// Returns the milliseconds that a number means: of a rate, those of one run, or of the amount in the first rate of the table.
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

impl Named {
    /// Returns what the name of a column says: `time_us`, `latency (s)`, `GPU Time (sec)`, `items_per_second`, `Bandwidth (GB/s)`.
    pub fn of(column: &str) -> Self {
        let quantity = |quantity: Quantity| Self::Quantity(quantity);
        let mut name = column.trim();
        while let Some((before, inside)) = bracket(name) {
            match Quantity::of_unit(inside) {
                Some(found) => return quantity(found),
                None if words(inside).iter().all(|word| may_follow_a_unit(word)) => name = before,
                None => return Self::Question(inside.to_owned()),
            }
        }
        let mut words = words(name);
        let mut lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let per = lower.iter().position(|word| word == "per").filter(|at| *at > 0 && at + 1 < words.len());
        let of_per = per.map(|at| format!("{}/{}", words[at - 1], words[at + 1]));
        let parts = || name.split([' ', '_']).filter(|part| part.contains('/')).chain(of_per.as_deref());
        if let Some(found) = parts().find_map(Quantity::of_unit) {
            return quantity(found);
        }
        let is_no_time = |part: &&str| {
            let (amount, per) = part.split_once('/').unwrap_or_default();
            let is_long = Unit::of_word(per).is_some() || is_in(&WORDS.long_times, &per.to_lowercase());
            is_long && Unit::of_word(amount).is_some()
                || is_amount(amount)
                || is_in(&WORDS.no_times, &amount.to_lowercase())
        };
        if let Some(part) = parts().find(is_no_time) {
            return Self::Question(part.to_owned());
        }
        // The time of what follows.
        if let Some(at) = per.filter(|at| at + 2 == words.len()) {
            words.truncate(at);
            lower.truncate(at);
        }
        let Some(at) = lower.iter().rposition(|word| !may_follow_a_unit(word)) else {
            // Minutes, or the least time?
            return lower
                .iter()
                .find(|word| *word == "min")
                .map_or(Self::Nothing, |word| Self::Question(word.clone()));
        };
        let (word, last) = (words[at], &lower[at]);
        let is_two_letters = last.len() == 2 && last.ends_with('s') && last.is_ascii();
        // `MiB` is two words.
        let before = name.rfind(word).map(|at| name[..at].trim_end_matches(|c: char| !c.is_alphanumeric()));
        let before = before.and_then(|text| text.rsplit(|c: char| !c.is_alphanumeric()).next());
        match (Unit::of_word(word), Rate::of_word(word)) {
            // `GB_s` is written for GB/s; `run_s` has the seconds of a run.
            (Some(unit), _) if unit == Unit::S && before.is_some_and(is_amount) => {
                quantity(Quantity::Rate(Rate::new(before.unwrap_or_default(), unit, column)))
            }
            // Rows a second, or the seconds of all rows?
            (Some(unit), _) if before.is_some_and(|counted| may_be_counted_in(counted, unit)) => {
                Self::Question(format!("{}_{word}", before.unwrap_or_default()))
            }
            (Some(unit), _) => quantity(Quantity::Time(unit)),
            (_, Some(rate)) => quantity(Quantity::Rate(rate)),
            // `GBs` may be GB/s, and `tokens` is no time.
            _ if is_two_letters
                || is_in(&WORDS.no_times, last)
                || is_amount(word.trim_end_matches('s'))
                || is_amount(word) =>
            {
                Self::Question(word.to_owned())
            }
            _ if lower.iter().any(|word| ["throughput", "bandwidth"].contains(&&**word)) => {
                quantity(Quantity::Rate(Rate::new("", Unit::S, column)))
            }
            // Not `t_min`: `time_min` may be minutes or the least time.
            _ if lower[at..].iter().any(|word| word == "min") => Self::Question("min".to_owned()),
            _ => Self::Nothing,
        }
    }
}

/// Returns whether a word counts what is done, so that `s` behind it makes a rate. One run, `op`, and single letters do not.
fn is_amount(word: &str) -> bool {
    let lower = word.to_lowercase();
    word.len() > 1 && is_counted(word)
        || lower.ends_with('s') && (known_amount(word).is_some() || is_in(&WORDS.runs, &lower))
}

/// Returns whether a word before a unit of time may be what is counted in it: a plural or a short word before seconds (`rows_s`, `img_s`),
/// and an amount before any unit (`ops_ms`). `kernels_ms` has the milliseconds of all kernels, and `times_s` seconds.
fn may_be_counted_in(word: &str, unit: Unit) -> bool {
    let lower = word.to_lowercase();
    let is_plural = lower.len() > 2
        && lower.ends_with('s')
        && !["ss", "is", "us", "times", "timings", "durations", "latencies"]
            .iter()
            .any(|end| lower.ends_with(end));
    is_amount(word) || unit == Unit::S && (is_plural || is_in(&WORDS.counted, &lower))
}

/// Returns whether a word in small letters is a statistic of times, and a time itself.
pub fn is_statistic(word: &str) -> bool {
    let percentile = word.strip_prefix('p').unwrap_or_default();
    is_in(&WORDS.statistics, word) || percentile.len() > 1 && percentile.bytes().all(|b| b.is_ascii_digit())
}

/// Returns whether a word in small letters is a statistic of how far times differ: `stddev`, `ci95`.
pub fn is_spread(word: &str) -> bool {
    is_in(&WORDS.spreads, word.trim_matches(|c: char| c.is_ascii_digit()))
}

/// Returns the word of a name that is a statistic of how far times differ, unless they are beside it: `mean ± std`.
pub fn spread(name: &str) -> Option<&str> {
    words(name).into_iter().find(|word| is_spread(&word.to_lowercase())).filter(|_| !name.contains('±'))
}

/// Returns the words of a name in small letters that are no statistics, and those that are.
pub fn by_statistics(name: &str) -> (Vec<String>, Vec<String>) {
    let lower = words(name).into_iter().map(str::to_lowercase);
    lower.partition(|word| !is_statistic(word) && !is_spread(word))
}

/// Returns whether a text names a time without its unit, or a statistic of times.
fn is_time(text: &str) -> bool {
    let last = words(text).pop().unwrap_or_default().to_lowercase();
    is_in(&WORDS.times, &last) || is_statistic(&last)
}

/// Returns whether a word may follow a unit.
fn may_follow_a_unit(word: &str) -> bool {
    let lower = word.to_lowercase();
    let is_number = word.bytes().all(|b| b.is_ascii_digit() || b == b'%');
    is_number || is_statistic(&lower) || is_in(&WORDS.behind_units, &lower)
}

/// Returns the text before the last bracket of a name, and the text inside.
fn bracket(name: &str) -> Option<(&str, &str)> {
    let (open, close) = [('(', ')'), ('[', ']')].into_iter().find(|(_, close)| name.ends_with(*close))?;
    let at = name.rfind(open)?;
    Some((name[..at].trim_end(), name[at + 1..name.len() - close.len_utf8()].trim()))
}

/// Returns the words of a name: `meanTimeNs`, `mean_time_ns` and `mean time, ns` have three.
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
        for text in ["", "MB", "x", "%", "cycles", "ticks", "J", "ops/cycle", "fs", "1/2"] {
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

    #[test]
    fn the_name_of_a_column_is_a_time_a_rate_a_question_or_nothing() {
        for (name, ms) in [
            ("time_us", 1e-3),
            ("latency (ms)", 1.0),
            ("latency(us)", 1e-3),
            ("Mean (ps)", 1e-9),
            ("GPU Time (sec)", 1e3),
            ("seconds", 1e3),
            ("ns", 1e-6),
            ("ns/op", 1e-6),
            ("time_ns_mean", 1e-6),
            ("meanTimeNs", 1e-6),
            ("duration, ms", 1.0),
            ("Time [µs]", 1e-3),
            ("ns_per_iter", 1e-6),
            ("Zeit (min)", 6e4),
            ("time_us_min", 1e-3),
            ("time_us_p75", 1e-3),
            ("time_us_worst", 1e-3),
            ("GPU time (ms) (mean)", 1.0),
            ("median.nanos", 1e-6),
            ("elapsed_h", 3.6e6),
            ("gemm_s", 1e3),
            ("run_s", 1e3),
            ("step_ms", 1.0),
            ("time in ms", 1.0),
            ("kernels_ms", 1.0),
            ("times_s", 1e3),
            ("process_s", 1e3),
            ("analysis_s", 1e3),
            ("time/ns", 1e-6),
            ("Time / ms", 1.0),
            ("CPU Time/us", 1e-3),
            ("mean/us", 1e-3),
            ("Laufzeit/s", 1e3),
            ("ms/iter/gpu", 1.0),
            ("s/epoch", 1e3),
            ("s_per_epoch", 1e3),
            ("ms per token", 1.0),
            ("mean ± std (us)", 1e-3),
        ] {
            let found = Named::of(name);
            let is_right = matches!(&found, Named::Quantity(Quantity::Time(unit)) if unit.ms(1.0) == ms);
            assert!(is_right, "{name}: {found:?}");
        }
        for name in [
            "items_per_second",
            "bytes_per_second",
            "Bandwidth (GB/s)",
            "TFLOPS",
            "tok/s",
            "throughput",
            "Throughput (ops/sec)",
            "fps",
            "GFLOP/s",
            "hipblaslt-Gflops",
            "ops",
            "MB/sec",
            "tokensPerSecond",
            "throughput_mean",
            "Gbps",
            "GlobalMem BW",
            "MHz",
            "TOPS",
            "bandwidth_mean",
            "Effective bandwidth of L2",
            "QPS",
            "samples/s",
            "req per sec",
            "images_per_sec",
            "GB_s",
            "bandwidth_MiB_s",
            "ops_s",
            "tokens_sec",
            "mem GB s",
            "MLUPS",
            "GLUPS",
            "mflups",
            "GUPS",
            "GTEPS",
            "GCUPS",
            "Mpps",
            "kIOPS",
            "kQPS",
            "bops",
            "gbops",
            "samples/sec",
            "images/sec/gpu",
            "tokens/s/device",
            "TFLOP/s/GPU",
            "tokps",
            "it/s",
            "t/s",
            "GStencil/s",
            "Mrays/s",
            "nps",
        ] {
            let found = Named::of(name);
            assert!(matches!(found, Named::Quantity(Quantity::Rate(_))), "{name}: {found:?}");
        }
        for name in [
            "cycles",
            "gpu_ticks",
            "time (cyc)",
            "min",
            "time_min",
            "speedup",
            "Score",
            "time_fs",
            "energy_j",
            "Mem (MB)",
            "time (a.u.)",
            "time_m",
            "clocks",
            "Time (days)",
            "mean (cycles)",
            "rows_s",
            "samples_s",
            "Mpixels_s",
            "lookups_sec",
            "img_s",
            "req_s",
            "it_s",
            "ops_ms",
            "load_files_s",
            "GBs",
            "MBs",
            "Gbs",
            "tpm",
            "rpm",
            "ns/day",
            "ns_per_day",
            "hours/ns",
            "cycles/byte",
            "cycles_per_iter",
            "clk/elem",
            "ops/cycle",
            "tokens",
            "iterations",
            "requests",
            "items",
            "IPC",
            "rss",
            "timestamp",
            "energy (kJ)",
            "tokens per request",
        ] {
            let found = Named::of(name);
            assert!(matches!(found, Named::Question(_)), "{name}: {found:?}");
        }
        for name in [
            "time", "real_time", "result", "t1", "rows", "stats.mean", "Mean", "latency", "runtime",
            "time (mean)", "best", "data", "time_per_query", "latency per call",
        ] {
            assert_eq!(Named::of(name), Named::Nothing, "{name}");
        }
    }
}
