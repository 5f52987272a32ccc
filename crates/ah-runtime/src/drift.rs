//! Whether a promise about a share still holds, tested at every audit.
//!
//! An audit times the chosen kernel and the fallback on one input: was the chosen one slower than promised? The test bets against the promise: for an
//! alternative share `q` above the promised `p`, a slow audit multiplies the wealth by `q / p`, another one by
//! `(1 − q) / (1 − p)`. While the promise holds, wealth does not grow on average, whatever the order of the audits, so it
//! ever reaches 20 with a probability of at most 1 / 20 (Ville's inequality). One may test after each call and stop at
//! any time (Ramdas and others, "Game-theoretic statistics and safe anytime-valid inference", 2023).
//!
//! The wealth is a mixture: over six alternatives, and over bets that begin at audits 1, 2, 4, 8, …, so that a drift after
//! a long good time is found too. Of 400 simulated programs that keep a promise of 1 %
//! exactly, 14 raise the alarm within 10,000 audits. At three times the promise the alarm comes after 252 audits (median; 95
//! of 100 within 819).

use std::fmt;

use std::sync::Mutex;

use ah_measure::lock;

/// The wealth that raises the alarm: it is false with a probability of at most 1 / 20.
const ALARM: f64 = 20.0;
/// The alternatives: odds above the promised ones by these factors.
const ODDS: [f64; 6] = [1.5, 2.0, 3.0, 5.0, 10.0, 30.0];
/// Bets begin at audits 2^0 to 2^39.
const STARTS: usize = 40;

/// Counts audits against a promised share; any thread may add. Adding takes a microsecond and allocates nothing.
///
/// ```
/// use ah_runtime::Drift;
///
/// // At most 1 % of the inputs may be slower than the fallback by more than 5 %.
/// let drift = Drift::new(0.01);
/// let (chosen_ms, fallback_ms) = (0.8, 1.0); // now and then, time both
/// drift.add(chosen_ms > 1.05 * fallback_ms);
/// assert!(drift.report().alarm.is_none());
/// println!("{}", drift.report());
/// ```
#[derive(Debug)]
pub struct Drift {
    promised: f64,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    audits: u64,
    slow: u64,
    /// By start: the slow audits before it.
    before: [u64; STARTS],
    alarm: Option<u64>,
}

/// The result of the audits so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftReport {
    /// The promised share.
    pub promised: f64,
    /// Their number.
    pub audits: u64,
    /// Those that were slower than promised.
    pub slow: u64,
    /// The evidence against the promise: 20 raises the alarm.
    pub wealth: f64,
    /// The audit that raised the alarm; it stays.
    pub alarm: Option<u64>,
}

impl Drift {
    /// Begins without an audit. `promised` is a share above 0 and below 1; others are moved inside.
    #[must_use]
    pub fn new(promised: f64) -> Self {
        let promised = if promised.is_nan() { 1e-6 } else { promised.clamp(1e-6, 1.0 - 1e-6) };
        let counts = Counts { audits: 0, slow: 0, before: [0; STARTS], alarm: None };
        Self { promised, counts: Mutex::new(counts) }
    }

    /// Adds an audit. Returns true for the one that raises the alarm.
    pub fn add(&self, is_slow: bool) -> bool {
        let mut counts = lock(&self.counts);
        if (counts.audits + 1).is_power_of_two() {
            let (start, slow) = (counts.audits.trailing_ones() as usize, counts.slow);
            counts.before.get_mut(start).into_iter().for_each(|before| *before = slow);
        }
        counts.audits += 1;
        counts.slow += u64::from(is_slow);
        // Only a slow audit adds wealth.
        if is_slow && counts.alarm.is_none() && counts.wealth(self.promised) >= ALARM {
            counts.alarm = Some(counts.audits);
            return true;
        }
        false
    }

    /// Returns the result so far.
    #[must_use]
    pub fn report(&self) -> DriftReport {
        let counts = lock(&self.counts);
        let Counts { audits, slow, alarm, .. } = *counts;
        DriftReport { promised: self.promised, audits, slow, wealth: counts.wealth(self.promised), alarm }
    }
}

impl Counts {
    // Beyond 2^53 audits a lost one does not matter.
    fn wealth(&self, promised: f64) -> f64 {
        let mut wealth = 0.0;
        for (start, before) in self.before.iter().enumerate() {
            // The weights sum to 1. A bet that has not begun still holds its stake.
            let stake = 1.0 / ((start + 1) * (start + 2)) as f64;
            let begin = (1_u64 << start) - 1;
            if begin >= self.audits {
                return wealth + 1.0 / (start + 1) as f64;
            }
            let slow = (self.slow - before) as f64;
            let others = (self.audits - begin) as f64 - slow;
            let of_odds = |odds: &f64| {
                // q / p and (1 - q) / (1 - p), where q has these odds times p's.
                let rest = 1.0 / (1.0 - promised + odds * promised);
                (slow * (odds * rest).ln() + others * rest.ln()).exp()
            };
            wealth += stake * ODDS.iter().map(of_odds).sum::<f64>() / ODDS.len() as f64;
        }
        wealth
    }
}

/// `3 of 512 watched decisions were slower than promised (at most 1 %): no drift`.
impl fmt::Display for DriftReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { audits, slow, .. } = self;
        let percent = (self.promised * 1e6).round() / 1e4;
        write!(f, "{slow} of {audits} watched decisions were slower than promised (at most {percent} %): ")?;
        match self.alarm {
            None => f.write_str("no drift"),
            Some(audit) => write!(f, "drift since audit {audit} or earlier; measure again (ah-train adapt)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The audit that raises the alarm, where an audit is slow with probability `share(audit)`.
    fn alarm(seed: u64, audits: u64, share: impl Fn(u64) -> f64) -> Option<u64> {
        let drift = Drift::new(0.01);
        (1..=audits).find(|&audit| drift.add(ah_types::random::fraction(seed, audit) < share(audit)))
    }

    #[test]
    fn a_kept_promise_seldom_raises_the_alarm() {
        let raised = (0..400).filter(|&seed| alarm(seed, 10_000, |_| 0.01).is_some()).count();
        eprintln!("{raised} of 400 false alarms within 10,000 audits");
        assert!(raised <= 20, "{raised} of 400");
    }

    #[test]
    fn three_times_the_promise_is_found() {
        let mut found: Vec<u64> =
            (0..400).map(|seed| alarm(seed, 20_000, |_| 0.03).unwrap_or(u64::MAX)).collect();
        found.sort_unstable();
        eprintln!("median {}, 95 of 100 within {}", found[200], found[380]);
        assert!(found[200] < 600 && found[380] < 1500, "{} {}", found[200], found[380]);
    }

    #[test]
    fn a_late_drift_is_found() {
        // After 5,000 audits at half of the promise, four times the promise.
        let share = |audit| if audit <= 5000 { 0.005 } else { 0.04 };
        let mut found: Vec<u64> = (0..100).filter_map(|seed| alarm(seed, 20_000, share)).collect();
        found.sort_unstable();
        eprintln!("{} of 100 found, median {}", found.len(), found[found.len() / 2]);
        assert_eq!(found.len(), 100);
        assert!(found[50] < 7000, "{}", found[50]);
    }

    #[test]
    fn wealth_begins_at_one_and_the_alarm_stays() {
        let drift = Drift::new(0.01);
        assert!((drift.report().wealth - 1.0).abs() < 1e-12);
        let first = (1..100).find(|_| drift.add(true));
        assert!(first.is_some() && !drift.add(true));
        (0..10_000).for_each(|_| assert!(!drift.add(false)));
        let report = drift.report();
        assert_eq!((report.alarm, report.audits), (first, first.unwrap() + 10_001));
        assert!(report.to_string().contains("drift since audit"), "{report}");
        assert!([f64::NAN, 0.0, 1.0, -3.0].iter().all(|&p| Drift::new(p).report().wealth.is_finite()));
    }
}
