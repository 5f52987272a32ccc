//! Where heuristics are found. A decision point asks, in this order, and takes the first whose
//! device guard and domain hold:
//!
//! 1. models in the folders of `AUTOHEURISTIC_PATH` (whoever runs the program has the last word);
//! 2. those that the decision point was [given](crate::Builder::heuristic);
//! 3. those that [registered](register) themselves, in the order in which they did.

use std::sync::{Arc, PoisonError};

use crate::heuristic::Heuristic;
use crate::model_folders;
use crate::sync::{AtomicU64, Ordering, RwLock};

#[cfg(not(loom))]
static HEURISTICS: RwLock<Vec<Arc<dyn Heuristic>>> = RwLock::new(Vec::new());
/// Counts changes, so that a decision point sees with one load that it must look again.
#[cfg(not(loom))]
static GENERATION: AtomicU64 = AtomicU64::new(0);
// Anew for each order of steps that loom tries.
#[cfg(loom)]
loom::lazy_static! {
    static ref HEURISTICS: RwLock<Vec<Arc<dyn Heuristic>>> = RwLock::new(Vec::new());
    static ref GENERATION: AtomicU64 = AtomicU64::new(0);
}

/// Makes a heuristic known to every decision point of this program, those that exist already too.
///
/// A generated crate's `register()` calls this. Registering a name again for the same
/// optimization replaces what was there and keeps its place.
pub fn register(heuristic: impl Heuristic + 'static) {
    let heuristic: Arc<dyn Heuristic> = Arc::new(heuristic);
    let mut known = HEURISTICS.write().unwrap_or_else(PoisonError::into_inner);
    let same = |h: &&mut Arc<dyn Heuristic>| {
        h.name() == heuristic.name() && h.optimization() == heuristic.optimization()
    };
    match known.iter_mut().find(same) {
        Some(place) => *place = heuristic,
        None => known.push(heuristic),
    }
    drop(known);
    changed();
}

/// Looks at the folders of `AUTOHEURISTIC_PATH` now, instead of within the next second.
pub fn reload() {
    model_folders::reload();
}

/// Every decision point looks again at its next decision.
pub(crate) fn changed() {
    GENERATION.fetch_add(1, Ordering::Release);
}

/// The heuristics for this optimization, in order.
#[must_use]
pub fn registered(optimization: &str) -> Vec<Arc<dyn Heuristic>> {
    let known = HEURISTICS.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().filter(|h| h.optimization() == optimization).cloned().collect()
}

pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}
