//! The heuristics that registered themselves, and a count of their changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::heuristics::Heuristic;
use crate::lock::lock;

static HEURISTICS: Mutex<Vec<Arc<dyn Heuristic>>> = Mutex::new(Vec::new());
/// Counts changes. A decision point compares it with one load and binds anew if it has moved.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Makes a heuristic known to every decision point of this program, existing ones included.
///
/// A generated crate's `register()` calls this. Registering the same name for the same optimization again
/// replaces the heuristic and keeps its place in the order: a program that runs for long replaces a model file with
/// `register(LoadedModel::read(path)?)`.
pub fn register(heuristic: impl Heuristic + 'static) {
    let heuristic: Arc<dyn Heuristic> = Arc::new(heuristic);
    let mut registered = lock(&HEURISTICS);
    let same = |h: &&mut Arc<dyn Heuristic>| {
        h.name() == heuristic.name() && h.optimization() == heuristic.optimization()
    };
    match registered.iter_mut().find(same) {
        Some(place) => *place = heuristic,
        None => registered.push(heuristic),
    }
    drop(registered);
    GENERATION.fetch_add(1, Ordering::Release);
}

/// The registered heuristics of this optimization, in the order of registration.
#[must_use]
pub fn registered(optimization: &str) -> Vec<Arc<dyn Heuristic>> {
    lock(&HEURISTICS).iter().filter(|h| h.optimization() == optimization).cloned().collect()
}

pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}
