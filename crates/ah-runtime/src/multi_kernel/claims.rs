//! Claims: of all threads that miss the same key, one measures. The others run the fallback meanwhile, so no thread
//! waits and nothing is measured twice.
//!
//! Lock-free: the key selects one of a fixed number of places, and one compare-and-swap claims it. Two keys with
//! the same place exclude each other; the later one is measured at a later call.

use crate::sync::{AtomicU64, Ordering};

/// More places than threads that can sensibly measure at once.
const PLACES: usize = if cfg!(loom) { 2 } else { 64 };

/// Marks a free place. Stored keys are odd, so none is 0.
const FREE: u64 = 0;

#[derive(Debug)]
pub(super) struct Claims {
    places: [AtomicU64; PLACES],
}

/// The right to measure. Dropping it frees the place, also when a kernel panics.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    place: &'a AtomicU64,
}

impl Claims {
    pub(super) fn new() -> Self {
        Self { places: std::array::from_fn(|_| AtomicU64::new(FREE)) }
    }

    /// Claims this key, unless another thread holds it or a key with the same place.
    pub(super) fn claim(&self, key: u64) -> Option<Claim<'_>> {
        let place = &self.places[(key >> 7) as usize % PLACES];
        // Acquire: makes visible what the last holder remembered before it released the claim.
        let taken = place.compare_exchange(FREE, key | 1, Ordering::Acquire, Ordering::Relaxed);
        // Made only if taken: dropping a `Claim` that was never held would free another thread's place.
        taken.is_ok().then(|| Claim { place })
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.place.store(FREE, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_until_it_is_dropped() {
        let claims = Claims::new();
        let held = claims.claim(5);
        assert!(held.is_some());
        assert!(claims.claim(5).is_none());
        assert!(claims.claim(5 + (1 << 7)).is_some());
        drop(held);
        assert!(claims.claim(5).is_some());
    }

    #[test]
    fn a_panic_gives_it_back() {
        let claims = Claims::new();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = claims.claim(5).unwrap();
            panic!("a kernel");
        }));
        assert!(panicked.is_err());
        assert!(claims.claim(5).is_some());
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p ah-runtime --lib claims`
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;
    use loom::thread;

    /// Two threads miss one key: each either measures alone and sees what the last holder remembered, or goes on.
    /// The count is read and written in two relaxed steps, so only the claim can order them.
    #[test]
    fn never_two_at_once_and_the_next_sees_what_the_last_remembered() {
        loom::model(|| {
            let shared = Arc::new((Claims::new(), AtomicU32::new(0)));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let Some(_claim) = shared.0.claim(9) else { return 0 };
                        let remembered = shared.1.load(Ordering::Relaxed);
                        thread::yield_now();
                        shared.1.store(remembered + 1, Ordering::Relaxed);
                        1
                    })
                })
                .collect();
            let measured: u32 = threads.into_iter().map(|t| t.join().unwrap()).sum();
            assert!(measured >= 1, "one thread measures");
            assert!(shared.0.claim(9).is_some(), "the claim came back");
            assert_eq!(shared.1.load(Ordering::Relaxed), measured);
        });
    }
}
