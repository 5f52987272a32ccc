//! Times and durations as people read them, in units that fit their size.

use std::time::Duration;

/// Returns a measured time with four digits: `52.31 µs`.
pub fn time(ms: f64) -> String {
    let (value, unit) = match ms {
        ..1e-3 => (ms * 1e6, "ns"),
        ..1.0 => (ms * 1e3, "µs"),
        ..1e3 => (ms, "ms"),
        _ => (ms / 1e3, "s"),
    };
    let decimals = match value {
        ..10.0 => 3,
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// Returns a duration: `4.2 s`, `75 s`, `12 min 30 s` or `2 h 5 min`.
pub fn duration(duration: Duration) -> String {
    let (exact, seconds) = (duration.as_secs_f64(), duration.as_secs());
    match seconds {
        0..10 => format!("{exact:.1} s"),
        10..120 => format!("{seconds} s"),
        120..7200 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns a count with its noun: `1 input`, `3 inputs`.
pub fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_size() {
        let times = [1e-5, 0.0123, 0.9, 1.0, 52.307, 152.0, 12_345.0, f64::INFINITY].map(time);
        assert_eq!(
            times,
            ["10.00 ns", "12.30 µs", "900.0 µs", "1.000 ms", "52.31 ms", "152.0 ms", "12.35 s", "inf s"]
        );
        let durations = [0.25, 75.9, 150.0, 7500.0].map(|s| duration(Duration::from_secs_f64(s)));
        assert_eq!(durations, ["0.2 s", "75 s", "2 min 30 s", "2 h 5 min"]);
    }
}
