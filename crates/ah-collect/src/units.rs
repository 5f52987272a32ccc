//! Durations and counts as people read them.

use std::time::Duration;

/// A duration: `4.2 s`, `75 s`, `12 min 30 s` or `2 h 5 min`.
pub fn duration(duration: Duration) -> String {
    let (exact, seconds) = (duration.as_secs_f64(), duration.as_secs());
    match seconds {
        0..10 => format!("{exact:.1} s"),
        10..120 => format!("{seconds} s"),
        120..7200 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A count with its noun: `1 input`, `3 inputs`.
pub fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Reads a number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_duration() {
        let durations = [0.25, 75.9, 150.0, 7500.0].map(|s| duration(Duration::from_secs_f64(s)));
        assert_eq!(durations, ["0.2 s", "75 s", "2 min 30 s", "2 h 5 min"]);
    }
}
