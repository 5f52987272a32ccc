//! The table of remembered picks, by shape key.

use std::cmp::Ordering;
use std::sync::Arc;

use ah_model::Scalar;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::guard::Guard;
use super::shape_key::{Treatment, shape_key};

/// A remembered pick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pick {
    /// One per feature.
    pub(crate) guards: Box<[Guard]>,
    /// The kernel's position.
    pub(crate) kernel: usize,
    /// Whether the kernels' results agreed with the fallback's before their times counted.
    pub(crate) checked: bool,
    /// The median of each kernel in milliseconds; `None` if it failed or was not measured.
    pub(crate) ms: Box<[Option<f64>]>,
}

impl Pick {
    /// The fastest measured kernel that is eligible.
    #[cold]
    pub(crate) fn best(&self, eligible: impl Fn(usize) -> bool) -> Option<usize> {
        let measured = self.ms.iter().enumerate().filter_map(|(kernel, ms)| Some((kernel, (*ms)?)));
        let offered = measured.filter(|(kernel, _)| eligible(*kernel));
        offered.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(kernel, _)| kernel)
    }
}

#[inline]
fn holds(guards: &[Guard], values: &[Scalar<'_>]) -> bool {
    guards.iter().zip(values).all(|(guard, value)| guard.holds(*value))
}

/// The picks of one MultiKernel at one moment. Readers share it; a change makes a new table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    treatments: Box<[Treatment]>,
    picks: FxHashMap<u64, Arc<Pick>>,
    /// Kernels that panicked in a call of the program, with the guards of the values; no guards: for all values. Empty in a
    /// good program.
    panics: Vec<(usize, Box<[Guard]>)>,
    /// The registry's generation that `consults` is for.
    pub(crate) generation: u64,
    /// True if a heuristic serves; it is asked first.
    pub(crate) consults: bool,
}

/// Most panics remembered by their values. A kernel that panics beyond it is not called again at all.
const MAX_PANICS: usize = 64;

impl Table {
    /// Starts a table without picks; `treatments` are those of the features, by slot.
    pub(crate) fn new(treatments: Box<[Treatment]>, generation: u64, consults: bool) -> Self {
        Self { treatments, picks: FxHashMap::default(), panics: Vec::new(), generation, consults }
    }

    /// The key of these values, or the first slot whose value is undefined.
    #[inline]
    pub(crate) fn key(&self, values: &[Scalar<'_>]) -> Result<u64, usize> {
        shape_key(&self.treatments, values)
    }

    /// The pick that holds for these values.
    #[inline]
    pub(crate) fn find(&self, values: &[Scalar<'_>]) -> Option<&Arc<Pick>> {
        let key = self.key(values).ok()?;
        self.picks.get(&key).filter(|pick| holds(&pick.guards, values))
    }

    /// Like [`find`](Self::find), for a call that trusts only checked picks where `checks` is true.
    #[inline]
    pub(crate) fn trusted(&self, values: &[Scalar<'_>], checks: bool) -> Option<&Arc<Pick>> {
        self.find(values).filter(|pick| pick.checked || !checks)
    }

    pub(crate) fn len(&self) -> usize {
        self.picks.len()
    }

    /// The picks in the order of their guards' values.
    pub(crate) fn picks(&self) -> Vec<&Arc<Pick>> {
        let mut picks: Vec<_> = self.picks.values().collect();
        picks.sort_by(|a, b| {
            let orders = a.guards.iter().zip(&b.guards).map(|(a, b)| a.compare(b));
            orders.fold(Ordering::Equal, Ordering::then)
        });
        picks
    }

    /// The guards of a pick for these values.
    pub(crate) fn guards(&self, values: &[Scalar<'_>]) -> Option<Box<[Guard]>> {
        let guard = |(slot, treatment): (usize, &Treatment)| treatment.guard(*values.get(slot)?);
        self.treatments.iter().enumerate().map(guard).collect()
    }

    /// Remembers a pick; it replaces a pick with the same guards. Returns false, and remembers nothing, if its guards are not
    /// those that this table makes: a feature was exact when it was written, or is now.
    pub(crate) fn insert(&mut self, pick: Pick) -> bool {
        let values: Vec<Scalar<'_>> = pick.guards.iter().map(Guard::value).collect();
        let is_own = self.guards(&values).is_some_and(|guards| guards == pick.guards);
        let Some(key) = self.key(&values).ok().filter(|_| is_own) else { return false };
        self.picks.insert(key, Arc::new(pick));
        true
    }

    /// Whether this kernel panicked for such values.
    #[inline]
    pub(crate) fn has_panicked(&self, kernel: usize, values: &[Scalar<'_>]) -> bool {
        self.panics.iter().any(|(other, guards)| *other == kernel && holds(guards, values))
    }

    /// Remembers that this kernel panicked for these values. If it was their pick, the next best kernel takes its
    /// place. Returns true if a pick changed.
    pub(crate) fn add_panic(&mut self, kernel: usize, values: &[Scalar<'_>]) -> bool {
        let known = if self.panics.len() < MAX_PANICS { self.guards(values) } else { None };
        self.panics.push((kernel, known.unwrap_or_default()));
        let (Ok(key), Some(found)) = (self.key(values), self.find(values)) else { return false };
        let mut pick = Pick::clone(found);
        pick.ms[kernel] = None;
        if pick.kernel == kernel {
            let Some(next) = pick.best(|_| true) else {
                self.picks.remove(&key);
                return true;
            };
            pick.kernel = next;
        }
        self.insert(pick)
    }
}
