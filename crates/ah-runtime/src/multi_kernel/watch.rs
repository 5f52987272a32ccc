//! Watching: a sample of the calls is timed, to find picks that have become slow.

use std::cell::Cell;

use super::picks::KeyMap;
use crate::drift::Drift;
use crate::sync::{Mutex, lock};

/// How calls are watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watch {
    /// One call in this many is timed. Random, so that a periodic pattern of calls cannot hide a slow pick.
    pub one_in: u32,
    /// A pick is slow if it takes more than this many times the promised time.
    pub limit: f64,
    /// Timed calls per verdict, which judges their median: an interrupt may slow a single call.
    pub samples: usize,
}

impl Default for Watch {
    fn default() -> Self {
        Self { one_in: 1000, limit: 1.5, samples: 5 }
    }
}

/// The promise of a heuristic, and whether it is kept.
#[derive(Debug)]
pub(super) struct PromiseWatch {
    /// A decision is slow if it takes more than this many times as long as the fallback.
    pub(super) limit: f64,
    pub(super) drift: Drift,
}

/// A pick whose watched calls took longer than promised.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowPick {
    pub(super) kernel: usize,
    pub(super) promised_ms: f64,
    pub(super) watched_ms: f64,
}

/// The timed calls of each pick since its last verdict.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) watch: Watch,
    pub(super) promise: Option<PromiseWatch>,
    samples: Mutex<KeyMap<Vec<f64>>>,
}

impl Watcher {
    pub(super) fn new(watch: Watch, promise: Option<PromiseWatch>) -> Self {
        Self { watch, promise, samples: Mutex::default() }
    }

    /// Returns true for one call in `one_in`. Each thread has its own state: with 16 threads a shared
    /// counter costs more than the look-up.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        RANDOM.with(|state| {
            let mut x = state.get();
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            state.set(x);
            // The high half of (high half times n): a number below n, without a division.
            ((x >> 32) * u64::from(self.watch.one_in)) >> 32 == 0
        })
    }

    /// Adds the time of a watched call; returns the median if the pick has become slow.
    pub(super) fn add(&self, key: u64, ms: f64, promised_ms: f64) -> Option<f64> {
        let mut all = lock(&self.samples);
        let samples = all.entry(key).or_default();
        samples.push(ms);
        if samples.len() < self.watch.samples {
            return None;
        }
        let median = ah_types::median(samples);
        samples.clear();
        median.filter(|median| *median > promised_ms * self.watch.limit)
    }
}

/// Seeds each thread's random sequence by the thread's number.
fn seed() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static THREADS: AtomicU64 = AtomicU64::new(1);
    THREADS.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

thread_local! {
    static RANDOM: Cell<u64> = Cell::new(seed());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_one_call_in_n_is_due() {
        for (one_in, least, most) in [(1, 10_000, 10_000), (10, 900, 1100), (1000, 2, 25)] {
            let watcher = Watcher::new(Watch { one_in, ..Watch::default() }, None);
            let due = (0..10_000).filter(|_| watcher.is_due()).count();
            assert!((least..=most).contains(&due), "one in {one_in}: {due} of 10000");
        }
    }

    #[test]
    fn one_slow_call_is_not_a_slow_pick() {
        let watcher = Watcher::new(Watch { samples: 3, limit: 1.5, one_in: 1 }, None);
        let add = |ms| watcher.add(7, ms, 1.0);
        assert_eq!([add(1.0), add(90.0), add(1.4)], [None, None, None]);
        assert_eq!([add(1.0), add(1.6), add(1.7)], [None, None, Some(1.6)]);
        assert_eq!(add(9.0), None, "a verdict starts over");
    }
}
