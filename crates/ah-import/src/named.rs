//! What the name of a column says about its numbers: times in a unit, rates in a unit, or a question to the user.

use std::sync::LazyLock;

use regex::Regex;

use crate::quantity::{Quantity, Rate, is_counted, known_amount};
use crate::unit::Unit;
use crate::words::{WORDS, is_in, is_time, may_follow_a_unit, words};

/// What the name of a column says about its numbers. The error is a question: this part of the name may be a unit, and is none that we
/// know.
pub type Named = Result<Option<Quantity>, String>;

/// The quantity that the name of a column means: `time_us`, `latency (s)`, `GPU Time (sec)`, `items_per_second`, `Bandwidth (GB/s)`.
pub fn of(column: &str) -> Named {
    let mut name = column.trim();
    // `per_ms`, `s^-1`, `1/time_ms`, `items (in 1 s)`
    static INVERSE: LazyLock<Regex> = LazyLock::new(|| {
        let forms = r"^1 ?/|^per[ _-]|(\^|\*\*)-?\d|[_ (]s-1\b|^m?s-1\b|⁻¹|[ _(]in[ _]\d+[ _]";
        Regex::new(forms).expect("a regular expression")
    });
    if INVERSE.is_match(name) {
        return Err(name.to_owned());
    }
    // The 99 % of a percentile is a statistic.
    let signs = column.match_indices(['%', '$', '€']);
    if let Some((_, sign)) = signs.into_iter().find(|(at, _)| !column[..*at].ends_with(is_digit)) {
        return Err(sign.to_owned());
    }
    while let Some((before, inside)) = bracket(name) {
        let others: Vec<&str> = words(inside).into_iter().filter(|word| !may_follow_a_unit(word)).collect();
        // `(avg us)`, `(us, median)` and `(sec.)`, not `(10 us)`.
        let found = Quantity::of_unit(inside).or_else(|| match others[..] {
            [unit] if !inside.starts_with(is_digit) => Quantity::of_unit(unit),
            _ => None,
        });
        match found {
            Some(found) => return Ok(Some(found)),
            None if others.is_empty() => name = before,
            None => return Err(inside.to_owned()),
        }
    }
    let mut words = words(name);
    let mut lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    if let Some(word) = lower.iter().find(|word| is_in(&WORDS.derived, word)) {
        return Err(word.clone());
    }
    let per = lower.iter().position(|word| word == "per").filter(|at| *at > 0 && at + 1 < words.len());
    let of_per = per.map(|at| format!("{}/{}", words[at - 1], words[at + 1]));
    let parts = || name.split([' ', '_']).filter(|part| part.contains('/')).chain(of_per.as_deref());
    if let Some(found) = parts().find_map(Quantity::of_unit) {
        return Ok(Some(found));
    }
    let is_no_time = |part: &&str| {
        let (amount, per) = part.split_once('/').unwrap_or_default();
        let is_long = Unit::of_word(per).is_some() || is_in(&WORDS.long_times, &per.to_lowercase());
        is_long && Unit::of_word(amount).is_some() || is_amount(amount) || is_other(&amount.to_lowercase())
    };
    if let Some(part) = parts().find(is_no_time) {
        return Err(part.to_owned());
    }
    // The time of what follows.
    if let Some(at) = per.filter(|at| at + 2 == words.len()) {
        words.truncate(at);
        lower.truncate(at);
    }
    let Some(at) = lower.iter().rposition(|word| !may_follow_a_unit(word)) else {
        // Minutes, or the least time?
        return lower.into_iter().find(|word| word == "min").map_or(Ok(None), Err);
    };
    let word = words[at];
    let last = &lower[at];
    if last == "clock" && at > 0 && lower[at - 1] == "wall" {
        return Ok(None);
    }
    let is_two_letters = last.len() == 2 && last.ends_with('s') && last.is_ascii();
    // `MiB` is two words.
    let before = name.rfind(word).map(|at| name[..at].trim_end_matches(|c: char| !c.is_alphanumeric()));
    let before = before.and_then(|text| text.rsplit(|c: char| !c.is_alphanumeric()).next());
    let before = before.unwrap_or_default();
    let is_of_unknown = || lower.iter().any(|word| ["throughput", "bandwidth"].contains(&&**word));
    let rate = |rate| Ok(Some(Quantity::Rate(rate)));
    match (Unit::of_word(word), Rate::of_word(word)) {
        // `GB_s` is written for GB/s; `run_s` has the seconds of a run.
        (Some(unit), _) if unit == Unit::S && is_amount(before) => rate(Rate::new(before, unit, column)),
        // Rows a second, or the seconds of all rows?
        (Some(unit), _) if may_be_counted_in(before, unit) => Err(format!("{before}_{word}")),
        (Some(unit), _) => Ok(Some(Quantity::Time(unit))),
        (_, Some(found)) => rate(found),
        // `GBs` may be GB/s, and `tokens` is no time.
        _ if is_two_letters || is_other(last) || is_amount(word.trim_end_matches('s')) || is_amount(word) => {
            Err(word.to_owned())
        }
        _ if is_of_unknown() => rate(Rate::of_unknown(column)),
        // Not `t_min`: `time_min` may be minutes or the least time.
        _ if lower[at..].iter().any(|word| word == "min") => Err("min".to_owned()),
        _ => inside(&words),
    }
}

/// The quantity that a unit before the end of a name means: `time_us_run1` has microseconds, `tflops_fp16` rates; `us_east` and
/// `duration_100ns` are questions.
fn inside(words: &[&str]) -> Named {
    let named = |at: usize| {
        let word = words[at].trim_start_matches(is_digit);
        if let Some(rate) = Rate::of_word(words[at]).filter(|_| words[at].len() > 3) {
            return Some(Ok(Some(Quantity::Rate(rate))));
        }
        let unit = Unit::of_word(word).filter(|_| !may_follow_a_unit(word))?;
        let is_of_time = word == words[at] && at > 0 && is_time(words[at - 1]);
        match is_of_time {
            true => Some(Ok(Some(Quantity::Time(unit)))),
            false => (word.len() > 1).then(|| Err(words[at].to_owned())),
        }
    };
    (0..words.len()).find_map(named).unwrap_or(Ok(None))
}

/// A name without its unit, if it has one: `sort` of `sort (µs)`, `sort_us` and `sort [GB/s]`.
pub fn without_unit(name: &str) -> Option<&str> {
    if let Some((before, inside)) = bracket(name) {
        return matches!(of(inside), Ok(Some(_))).then_some(before);
    }
    let (before, last) = name.rsplit_once(['_', ' ', '-', ',', '.'])?;
    Quantity::of_unit(last)?;
    Some(before.trim_end_matches(|c: char| !c.is_alphanumeric()))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Whether a word in small letters is for what is no time, also for a thousand or more of it: `kcycles`.
fn is_other(word: &str) -> bool {
    let of_many = word.strip_prefix(['k', 'm', 'g']).filter(|word| word.len() > 3);
    is_in(&WORDS.no_times, word) || of_many.is_some_and(|word| is_in(&WORDS.no_times, word))
}

/// Whether a word counts what is done, so that `s` behind it makes a rate. One run, `op`, and single letters do not.
fn is_amount(word: &str) -> bool {
    let lower = word.to_lowercase();
    word.len() > 1 && is_counted(word)
        || lower.ends_with('s') && (known_amount(word).is_some() || is_in(&WORDS.runs, &lower))
}

/// Whether a word before a unit of time may be what is counted in it: a plural or a short word before seconds (`rows_s`, `img_s`),
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

/// The text before the last bracket of a name, and the text inside.
fn bracket(name: &str) -> Option<(&str, &str)> {
    let (open, close) = [('(', ')'), ('[', ']')].into_iter().find(|(_, close)| name.ends_with(*close))?;
    let at = name.rfind(open)?;
    Some((name[..at].trim_end(), name[at + 1..name.len() - close.len_utf8()].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("Time (in us)", 1e-3),
            ("latency (us, median)", 1e-3),
            ("latency (avg us)", 1e-3),
            ("Time (sec.)", 1e3),
            ("time_us_run1", 1e-3),
            ("Time [us] on A100", 1e-3),
            ("mean_s_fp16", 1e3),
            ("lat_ns_fp16", 1e-6),
        ] {
            let found = of(name);
            let is_right = matches!(&found, Ok(Some(Quantity::Time(unit))) if unit.ms(1.0) == ms);
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
            "hashrate",
            "tput",
            "thrpt",
            "framerate",
            "membw",
            "tflops_fp16",
            "gflops_on_a100",
        ] {
            let found = of(name);
            assert!(matches!(found, Ok(Some(Quantity::Rate(_)))), "{name}: {found:?}");
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
            "Time (%)",
            "% of time",
            "time %",
            "cost ($)",
            "us_east",
            "duration_100ns",
            "time (10 us)",
            "Mcycles",
            "FOM",
            "vs_baseline",
            "relative",
            "log2_ns",
            "delta_ms",
            "per_ms",
            "per-second",
            "s^-1",
            "ms^-1",
            "s-1",
            "s**-1",
            "inv_ms",
            "inverse_s",
            "recip_us",
            "saved_ms",
            "rank_ms",
            "normalized_ms",
            "cumulative_time_s",
            "1/time_ms",
            "1/t_us",
            "ops_in_1_s",
            "events in 1000 ms",
            "items (in 1 s)",
        ] {
            let found = of(name);
            assert!(found.is_err(), "{name}: {found:?}");
        }
        for name in [
            "time", "real_time", "result", "t1", "rows", "stats.mean", "Mean", "latency", "runtime",
            "time (mean)", "best", "data", "time_per_query", "latency per call", "latency (99%)", "p99.9%",
            "rms_norm", "h_step", "wall_clock", "Wall clock", "wall-clock time",
        ] {
            assert_eq!(of(name), Ok(None), "{name}");
        }
    }
}
