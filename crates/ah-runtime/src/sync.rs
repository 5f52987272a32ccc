//! The types behind all state that threads share: those of the standard library and `arc_swap`, or loom's under
//! `--cfg loom`, where loom explores the orders of the threads' steps.

#[cfg(not(loom))]
mod types {
    pub(crate) use arc_swap::ArcSwap;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub(crate) use std::sync::{Mutex, MutexGuard, RwLock};

    /// The return type of [`ArcSwap::load`].
    pub(crate) type Snapshot<T> = arc_swap::Guard<std::sync::Arc<T>>;
}

#[cfg(loom)]
mod types {
    use std::sync::{Arc, PoisonError};

    use loom::sync::atomic::AtomicUsize;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub(crate) use loom::sync::{Mutex, MutexGuard, RwLock};

    pub(crate) type Snapshot<T> = Arc<T>;

    /// Stands in for `arc_swap::ArcSwap`, because loom does not see another crate's atomics. It keeps all values; an
    /// atomic index selects the current one. Its acquire and release order exactly what `ArcSwap` promises; a
    /// lock would order more.
    pub(crate) struct ArcSwap<T> {
        values: std::sync::Mutex<Vec<Arc<T>>>,
        current: AtomicUsize,
        /// Loom reorders an access only with the last access before it, so a writer's own load would hide an
        /// earlier reader. Every access therefore changes this counter. Relaxed, so that it adds no ordering.
        turn: AtomicUsize,
    }

    impl<T> ArcSwap<T> {
        pub(crate) fn from_pointee(value: T) -> Self {
            Self {
                values: std::sync::Mutex::new(vec![Arc::new(value)]),
                current: AtomicUsize::new(0),
                turn: AtomicUsize::new(0),
            }
        }

        pub(crate) fn load(&self) -> Snapshot<T> {
            self.turn.fetch_add(1, Ordering::Relaxed);
            let current = self.current.load(Ordering::Acquire);
            self.values.lock().unwrap_or_else(PoisonError::into_inner)[current].clone()
        }

        pub(crate) fn store(&self, value: Arc<T>) {
            let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
            values.push(value);
            let last = values.len() - 1;
            drop(values);
            self.turn.fetch_add(1, Ordering::Relaxed);
            self.current.store(last, Ordering::Release);
        }
    }
}

pub(crate) use types::*;

/// Locks, and ignores poison: no code that can panic runs while the data is half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
