//! Watching: one call in so many is also timed, and a pick that has become slow is found out.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::PoisonError;

use super::shape_key::BuildIdentity;
use crate::sync::Mutex;

/// How calls are watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watch {
    /// One call in this many is timed, by chance, so that no rhythm of the calls hides one.
    pub one_in: u32,
    /// A pick is slow when it takes more than this many times what was promised.
    pub limit: f64,
    /// Watched calls of one pick whose median is judged: one alone may have met an interrupt.
    pub samples: usize,
}

impl Default for Watch {
    fn default() -> Self {
        Self { one_in: 1000, limit: 1.5, samples: 5 }
    }
}

/// The watched calls of each pick since it was last judged.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) watch: Watch,
    seen: Mutex<HashMap<u64, Vec<f64>, BuildIdentity>>,
}

impl Watcher {
    pub(super) fn new(watch: Watch) -> Self {
        Self { watch, seen: Mutex::default() }
    }

    /// True for one call in `one_in`. Its state is the thread's own: a shared counter would cost
    /// 16 threads more than the look-up.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        RANDOM.with(|state| {
            let mut x = state.get();
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            state.set(x);
            // The high half times n, high half again: a number below n without a division.
            ((x >> 32) * u64::from(self.watch.one_in)) >> 32 == 0
        })
    }

    /// A watched call took so long; `Some(median)` where the pick has become slow.
    pub(super) fn saw(&self, key: u64, ms: f64, promised_ms: f64) -> Option<f64> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = seen.entry(key).or_default();
        samples.push(ms);
        if samples.len() < self.watch.samples {
            return None;
        }
        let median = ah_types::median(samples);
        samples.clear();
        median.filter(|median| *median > promised_ms * self.watch.limit)
    }
}

/// Each thread draws a sequence of its own, seeded by its number.
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
    fn about_one_call_in_so_many_is_due() {
        for (one_in, least, most) in [(1, 10_000, 10_000), (10, 900, 1100), (1000, 2, 25)] {
            let watcher = Watcher::new(Watch { one_in, ..Watch::default() });
            let due = (0..10_000).filter(|_| watcher.is_due()).count();
            assert!((least..=most).contains(&due), "one in {one_in}: {due} of 10000");
        }
    }

    #[test]
    fn one_slow_call_is_not_a_slow_pick() {
        let watcher = Watcher::new(Watch { samples: 3, limit: 1.5, one_in: 1 });
        let saw = |ms| watcher.saw(7, ms, 1.0);
        assert_eq!([saw(1.0), saw(90.0), saw(1.4)], [None, None, None]);
        assert_eq!([saw(1.0), saw(1.6), saw(1.7)], [None, None, Some(1.6)]);
        assert_eq!(saw(9.0), None, "judging begins anew");
    }
}
