//! What threads share is made of: the types of the standard library and of `arc_swap`, and, where loom
//! tries every order of their steps (`--cfg loom`), loom's.

#[cfg(not(loom))]
mod types {
    pub(crate) use arc_swap::ArcSwap;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub(crate) use std::sync::{Mutex, MutexGuard, RwLock};

    /// What [`ArcSwap::load`] returns.
    pub(crate) type Loaded<T> = arc_swap::Guard<std::sync::Arc<T>>;
}

#[cfg(loom)]
mod types {
    use std::sync::{Arc, PoisonError};

    use loom::sync::atomic::AtomicUsize;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub(crate) use loom::sync::{Mutex, MutexGuard, RwLock};

    pub(crate) type Loaded<T> = Arc<T>;

    /// An `arc_swap::ArcSwap` as far as its users can tell: loom cannot look into another crate's atomics.
    /// It keeps every value it ever had; which is the current one is an atomic number, so readers see what
    /// was written before it and no lock orders more than that.
    pub(crate) struct ArcSwap<T> {
        values: std::sync::Mutex<Vec<Arc<T>>>,
        current: AtomicUsize,
        /// Loom looks for other orders between an access and the last one before it only: a load of the
        /// writer's own hides the reader's before that. Each access changes this, relaxed, so that it orders
        /// nothing in the memory, but no order of accesses is passed over.
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

        pub(crate) fn load(&self) -> Loaded<T> {
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
