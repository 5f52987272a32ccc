//! The time of a small decision on this machine: the unit in which the cost of asking a heuristic is counted.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Decisions that are timed as one: reading the clock takes as long as eight of them.
const CALLS: u32 = 1000;
/// The least time within this duration counts: a virtual machine is slow for milliseconds.
const DURATION: Duration = Duration::from_millis(40);

/// Decides as generated code does: early returns, here after eight comparisons on four numbers.
#[inline(never)]
fn decide(m: f64, k: f64, n: f64, size: f64) -> u32 {
    match () {
        () if m <= 16.0 => 1,
        () if k <= 32.0 => 2,
        () if n <= 64.0 => 3,
        () if size <= 1e4 => 4,
        () if m > 4096.0 => 5,
        () if k > 8192.0 => 6,
        () if n > 16384.0 => 7,
        () if size > 1e9 => 8,
        () => 9,
    }
}

/// The least time in nanoseconds of one fixed small decision in Rust: a call and eight comparisons.
pub fn decision_ns() -> f64 {
    let batch = || {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(decide(black_box(100.0), black_box(200.0), black_box(300.0), black_box(6e6)));
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    let start = Instant::now();
    let mut least = f64::INFINITY;
    while start.elapsed() < DURATION {
        least = batch().min(least);
    }
    // Two digits are more than the clock knows.
    (least * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_takes_nanoseconds() {
        let ns = decision_ns();
        assert!((0.3..1000.0).contains(&ns), "{ns}");
    }
}
