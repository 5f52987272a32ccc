//! Durations and counts as people read them.

use std::time::Duration;

/// A duration in whole seconds: `59s` or `1m 15s`.
pub fn duration(duration: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(duration.as_secs_f64().round() as u64))
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
        let durations = [0.25, 75.9, 7500.0].map(|s| duration(Duration::from_secs_f64(s)).to_string());
        assert_eq!(durations, ["0s", "1m 16s", "2h 5m"]);
    }
}
