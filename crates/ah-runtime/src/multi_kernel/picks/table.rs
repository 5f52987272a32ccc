//! The table of remembered picks, by shape key.

use std::cmp::Ordering;
use std::sync::Arc;

use ah_model::{Feature, FeatureKind, Scalar, Schema};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::guard::Guard;
use super::shape_key::{Dimension, Treatment, shape_key};

/// A remembered pick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pick {
    /// One per feature.
    pub(crate) guards: Box<[Guard]>,
    /// The kernel's position.
    pub(crate) kernel: usize,
    /// The median of each kernel in milliseconds; `None` if it failed or was not measured.
    pub(crate) ms: Box<[Option<f64>]>,
}

impl Pick {
    /// Returns the fastest measured kernel that is eligible.
    #[cold]
    pub(crate) fn best(&self, eligible: impl Fn(usize) -> bool) -> Option<usize> {
        let mut order: Vec<(usize, f64)> =
            self.ms.iter().enumerate().filter_map(|(kernel, ms)| Some((kernel, (*ms)?))).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        order.into_iter().map(|(kernel, _)| kernel).find(|&kernel| eligible(kernel))
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

const DYNAMIC: Treatment = Treatment::Number(Dimension::Dynamic);

/// Most panics remembered by their values. A kernel that panics beyond it is not called again at all.
const MAX_PANICS: usize = 64;

/// A dimension that becomes dynamic, with the two values that make it so.
pub(crate) struct Widening {
    pub(crate) slot: usize,
    pub(crate) first: f64,
    pub(crate) second: f64,
}

impl Table {
    pub(crate) fn new(schema: &Schema, dimensions: &[Dimension]) -> Self {
        let treatment = |(feature, dimension): (&Feature, &Dimension)| match feature.kind {
            FeatureKind::Categorical => Treatment::Category,
            FeatureKind::Numerical => Treatment::Number(*dimension),
        };
        let treatments = schema.features().iter().zip(dimensions).map(treatment).collect();
        Self { treatments, picks: FxHashMap::default(), panics: Vec::new(), generation: 0, consults: false }
    }

    /// Returns the key of these values, or the first slot whose value is undefined.
    #[inline]
    pub(crate) fn key(&self, values: &[Scalar<'_>]) -> Result<u64, usize> {
        shape_key(&self.treatments, values)
    }

    /// Returns the pick that holds for these values.
    #[inline]
    pub(crate) fn find(&self, values: &[Scalar<'_>]) -> Option<&Arc<Pick>> {
        let key = self.key(values).ok()?;
        self.picks.get(&key).filter(|pick| holds(&pick.guards, values))
    }

    pub(crate) fn len(&self) -> usize {
        self.picks.len()
    }

    /// Returns the picks in the order of their guards' values.
    pub(crate) fn picks(&self) -> Vec<&Arc<Pick>> {
        let mut picks: Vec<_> = self.picks.values().collect();
        picks.sort_by(|a, b| {
            let orders = a.guards.iter().zip(&b.guards).map(|(a, b)| a.compare(b));
            orders.fold(Ordering::Equal, Ordering::then)
        });
        picks
    }

    /// Returns the guards of a pick for these values.
    pub(crate) fn guards(&self, values: &[Scalar<'_>]) -> Option<Box<[Guard]>> {
        let guard = |(slot, treatment): (usize, &Treatment)| treatment.guard(*values.get(slot)?);
        self.treatments.iter().enumerate().map(guard).collect()
    }

    /// Returns the first broken guard, with its slot, of the pick with the fewest broken guards.
    pub(crate) fn nearest_miss(&self, values: &[Scalar<'_>]) -> Option<(usize, &Guard)> {
        let broken = |pick: &Pick| {
            let broken = pick.guards.iter().zip(values).filter(|(guard, value)| !guard.holds(**value));
            broken.count()
        };
        let nearest = self.picks().into_iter().min_by_key(|pick| broken(pick))?;
        nearest
            .guards
            .iter()
            .enumerate()
            .find(|(slot, guard)| !values.get(*slot).is_some_and(|v| guard.holds(*v)))
    }

    /// Returns each dimension that may become dynamic and gets its second value here.
    pub(crate) fn widenings(&self, values: &[Scalar<'_>]) -> Vec<Widening> {
        let widening = |(slot, value): (usize, &Scalar<'_>)| {
            let second = value.number().filter(|x| !x.is_nan())?;
            let other = |pick: &Arc<Pick>| match pick.guards[slot] {
                Guard::Equals(x) if x != second => Some(x),
                _ => None,
            };
            let may_widen = self.treatments[slot] == Treatment::Number(Dimension::Automatic);
            let first = self.picks.values().filter(|_| may_widen).filter_map(other).min_by(f64::total_cmp)?;
            Some(Widening { slot, first, second })
        };
        values.iter().take(self.treatments.len()).enumerate().filter_map(widening).collect()
    }

    /// Makes these dimensions dynamic.
    pub(crate) fn make_dynamic(&mut self, slots: impl IntoIterator<Item = usize>) {
        let before = self.treatments.clone();
        for slot in slots {
            self.treatments[slot] = DYNAMIC;
        }
        if self.treatments == before {
            return;
        }
        let picks: Vec<Arc<Pick>> = self.picks().into_iter().cloned().collect();
        self.picks.clear();
        for pick in picks {
            self.put(Arc::unwrap_or_clone(pick));
        }
    }

    /// Remembers a pick; it replaces a pick with the same guards. A dimension becomes dynamic if its guard is a
    /// bucket. Returns false, and remembers nothing, if the guards do not fit this table.
    pub(crate) fn insert(&mut self, pick: Pick) -> bool {
        if pick.guards.len() != self.treatments.len() {
            return false;
        }
        let mut slots = Vec::new();
        for (slot, guard) in pick.guards.iter().enumerate() {
            let makes = |treatment: Treatment| treatment.guard(guard.value()).as_ref() == Some(guard);
            match self.treatments[slot] {
                now if makes(now) => {}
                DYNAMIC if makes(Treatment::Number(Dimension::Exact)) => {}
                Treatment::Number(Dimension::Automatic) if makes(DYNAMIC) => slots.push(slot),
                _ => return false,
            }
        }
        self.make_dynamic(slots);
        self.put(pick)
    }

    /// Stores a pick whose guards fit the treatments, or are narrower.
    fn put(&mut self, pick: Pick) -> bool {
        let values: Vec<Scalar<'_>> = pick.guards.iter().map(Guard::value).collect();
        let (Some(guards), Ok(key)) = (self.guards(&values), self.key(&values)) else { return false };
        self.picks.insert(key, Arc::new(Pick { guards, ..pick }));
        true
    }

    /// Returns true if this kernel panicked for such values.
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
