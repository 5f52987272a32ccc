//! Which kernel runs: the part of a MultiKernel that does not know the kernels' type.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use ah_types::timing::TimingPolicy;
use ah_types::{Outcome, Scalar};

use super::claims::Claims;
use super::event::{Event, Events, Milliseconds, Miss};
use super::measure::{self, Bench};
use super::metrics;
use super::store::{self, Identity, Stamp};
use super::table::{Pick, Table};
use super::watch::Watcher;
use crate::AutoHeuristic;
use crate::registry;
use crate::sync::{ArcSwap, AtomicBool, Mutex, MutexGuard, Ordering};

/// Whether a kernel supports an input with these values.
pub(super) type Eligible = Box<dyn Fn(&[Scalar<'_>]) -> bool + Send + Sync>;

/// Runs what it is given, once, and says how many milliseconds that took.
pub(super) type Timer = Box<dyn Fn(&mut dyn FnMut()) -> f64 + Send + Sync>;

/// Whether a sample may hold several runs of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Batches {
    Allowed,
    Forbidden,
}

/// A file that picks are written to and read from again when another process has changed it.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) stamp: Mutex<Stamp>,
    /// Bytes that all files of its folder may take; `None` for a recording.
    pub(super) limit: Option<u64>,
}

pub(super) struct Picker {
    pub(super) decision: AutoHeuristic,
    pub(super) eligible: Vec<Option<Eligible>>,
    pub(super) identity: Identity,
    pub(super) table: ArcSwap<Table>,
    /// Held while the table is replaced.
    pub(super) changing: Mutex<()>,
    pub(super) claims: Claims,
    pub(super) events: Events,
    pub(super) policy: TimingPolicy,
    pub(super) timer: Timer,
    pub(super) shared: Vec<Shared>,
    /// False in a program that only looks up.
    pub(super) measures: bool,
    pub(super) forced: Option<usize>,
    pub(super) watcher: Option<Watcher>,
    pub(super) max_picks: usize,
    pub(super) limit_told: AtomicBool,
    /// Keys that the fallback serves for good, because every kernel failed or nothing was recorded.
    pub(super) given_up: Mutex<HashSet<u64>>,
    /// Keys whose pick was found slow, until it is measured again: kernel, promised and seen
    /// milliseconds. Locked while `changing` is held, or alone.
    pub(super) slow: Mutex<HashMap<u64, (usize, f64, f64)>>,
    pub(super) metrics: Option<PathBuf>,
    pub(super) appends_to_log: bool,
}

/// Keys that are remembered as given up at most: beyond, a call only pays for looking again.
const MAX_GIVEN_UP: usize = 4096;

impl Picker {
    pub(super) fn decision(&self) -> &AutoHeuristic {
        &self.decision
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.events.all()
    }

    pub(super) fn time(&self, run: &mut dyn FnMut()) -> f64 {
        (self.timer)(run)
    }

    #[inline]
    pub(super) fn is_watched_now(&self) -> bool {
        self.watcher.as_ref().is_some_and(Watcher::is_due)
    }

    #[inline]
    fn is_eligible(&self, kernel: usize, values: &[Scalar<'_>]) -> bool {
        self.eligible[kernel].as_ref().is_none_or(|eligible| eligible(values))
    }

    /// The kernel to run, where it is known without measuring. Allocates nothing and takes no lock.
    #[inline]
    pub(super) fn known(&self, values: &[Scalar<'_>]) -> Option<usize> {
        if let Some(kernel) = self.forced {
            return Some(if self.is_eligible(kernel, values) {
                kernel
            } else {
                self.decision.fallback_index()
            });
        }
        let table = self.table.load();
        if table.generation != registry::generation() {
            drop(table);
            self.look_for_heuristics();
            return self.known(values);
        }
        if table.consults {
            let answer = self.decision.choose_among(values, &|kernel| self.is_eligible(kernel, values));
            if answer.is_learned() {
                return Some(answer.index);
            }
        }
        let pick = table.find(values)?;
        if self.is_eligible(pick.kernel, values) {
            return Some(pick.kernel);
        }
        self.next_best(pick, values)
    }

    /// The remembered kernel does not support this input, another that was measured with it may.
    #[cold]
    fn next_best(&self, pick: &Pick, values: &[Scalar<'_>]) -> Option<usize> {
        pick.best(|kernel| self.is_eligible(kernel, values))
    }

    #[cold]
    fn look_for_heuristics(&self) {
        let generation = registry::generation();
        let consults = self.decision.has_heuristics();
        self.change(|table| {
            table.generation = generation;
            table.consults = consults;
        });
    }

    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let _changing = lock(&self.changing);
        let mut table = Table::clone(&self.table.load());
        let result = change(&mut table);
        self.table.store(Arc::new(table));
        result
    }

    /// No remembered pick serves: finds or measures one. Returns the kernel to run.
    #[cold]
    pub(super) fn missed(&self, values: &[Scalar<'_>], batches: Batches, bench: &mut Bench<'_>) -> usize {
        let fallback = self.decision.fallback_index();
        if self.widen(values)
            && let Some(kernel) = self.known(values)
        {
            return kernel;
        }
        let Ok(key) = self.table.load().key(values) else { return fallback };
        if self.is_served_by_fallback(key) {
            return fallback;
        }
        let Some(miss) = self.reason(values) else { return fallback };
        let Some(_claim) = self.claims.claim(key) else { return fallback };
        // Between the look-up and the claim another thread may have remembered it.
        if let Some(kernel) = self.known(values) {
            return kernel;
        }
        if self.read_changed()
            && let Some(kernel) = self.known(values)
        {
            self.events.add(self.decision.name(), Event::Found { miss, context: self.context(values) });
            return kernel;
        }
        let picks = self.table.load().len();
        if !self.measures {
            self.give_up(key, Event::NotRecorded { miss, context: self.context(values) });
            return fallback;
        }
        if picks >= self.max_picks {
            if !self.limit_told.swap(true, Ordering::Relaxed) {
                self.events.add(self.decision.name(), Event::Limit { picks, miss });
            }
            return fallback;
        }
        self.measure(key, values, miss, batches, bench).unwrap_or(fallback)
    }

    /// True where it is settled that nothing is measured: such calls shall cost little.
    fn is_served_by_fallback(&self, key: u64) -> bool {
        let is_full = || self.table.load().len() >= self.max_picks && !lock(&self.slow).contains_key(&key);
        (self.limit_told.load(Ordering::Relaxed) && is_full()) || lock(&self.given_up).contains(&key)
    }

    /// Why no pick serves; `None` where a feature is undefined, so that none ever can.
    fn reason(&self, values: &[Scalar<'_>]) -> Option<Miss> {
        let table = self.table.load();
        let key = table.key(values).ok()?;
        if let Some(&(kernel, promised_ms, seen_ms)) = lock(&self.slow).get(&key) {
            return Some(Miss::Slower { kernel: self.name_of(kernel), promised_ms, seen_ms });
        }
        if let Some(pick) = table.find(values) {
            return Some(Miss::NotEligible { kernel: self.name_of(pick.kernel) });
        }
        Some(match table.nearest_miss(values) {
            None => Miss::First,
            Some((slot, guard)) => {
                let feature = &self.identity.schema.features()[slot].name;
                let found = format!("{feature} = {}", values[slot].to_value());
                Miss::Guard { guard: guard.of(feature).to_string(), found }
            }
        })
    }

    /// Makes dimensions dynamic of which these values are the second one; true where there were some.
    fn widen(&self, values: &[Scalar<'_>]) -> bool {
        if !self.table.load().would_widen(values) {
            return false;
        }
        let widened = self.change(|table| table.widen_for(values));
        for dimension in &widened {
            let feature = self.identity.schema.features()[dimension.slot].name.clone();
            let event = Event::Dynamic { feature, first: dimension.first, second: dimension.second };
            self.events.add(self.decision.name(), event);
        }
        !widened.is_empty()
    }

    fn measure(
        &self,
        key: u64,
        values: &[Scalar<'_>],
        miss: Miss,
        batches: Batches,
        bench: &mut Bench<'_>,
    ) -> Option<usize> {
        let context = self.context(values);
        let mut policy = self.policy;
        if batches == Batches::Forbidden {
            policy.min_sample_ms = 0.0;
        }
        let kernels = self.identity.kernels.len();
        let outcomes = measure::measure(policy, kernels, |kernel| self.is_eligible(kernel, values), bench);
        for (kernel, outcome) in outcomes.iter().enumerate() {
            if let Outcome::Failed { reason } = outcome {
                let (kernel, reason) = (self.name_of(kernel), reason.clone());
                let event = Event::Failed { kernel, reason, context: context.clone() };
                self.events.add(self.decision.name(), event);
            }
        }
        let mut medians: Box<[f64]> = outcomes.iter().map(|o| o.median().unwrap_or(f64::NAN)).collect();
        let winner = measure::winner(&medians, policy.target_relative_error);
        self.write_metrics(values, winner, &medians);
        if self.appends_to_log {
            let names = self.decision.choices().iter().map(String::as_str);
            let rows = outcomes.into_iter().map(|outcome| match outcome {
                Outcome::Measured { feedback } => Outcome::Measured { feedback: policy.rows(&feedback) },
                other => other,
            });
            if let Err(error) = self.decision.append(values, names.zip(rows)) {
                log::warn!("{}: {error}", self.decision.name());
            }
        }
        let named = winner.map(|kernel| (self.name_of(kernel), medians[kernel]));
        let event = Event::Measured { miss, context, winner: named };
        let Some(kernel) = winner else {
            self.give_up(key, event);
            return None;
        };
        let seen = lock(&self.slow).remove(&key);
        // Measured again, the same kernel wins: what watching saw is what it takes in this program.
        let confirmed = seen.filter(|(slow, ..)| *slow == kernel).map_or(0.0, |(_, _, seen_ms)| seen_ms);
        let promised_ms = medians[kernel].max(confirmed);
        let table = self.table.load();
        let guards = table.guards(values)?;
        if let Some(before) = table.find(values) {
            // Measured for another input of the same key, which supported other kernels.
            for (ms, before) in medians.iter_mut().zip(&before.ms).filter(|(ms, _)| ms.is_nan()) {
                *ms = *before;
            }
        }
        drop(table);
        let pick = Pick { guards, kernel, ms: medians, promised_ms };
        self.change(|table| table.insert(pick.clone()));
        self.share(&pick);
        self.events.add(self.decision.name(), event);
        Some(kernel)
    }

    fn give_up(&self, key: u64, event: Event) {
        let mut given_up = lock(&self.given_up);
        if given_up.len() < MAX_GIVEN_UP && given_up.insert(key) {
            drop(given_up);
            self.events.add(self.decision.name(), event);
        }
    }

    /// Adds the picks of the shared files that have changed; true where there were some.
    fn read_changed(&self) -> bool {
        let mut any = false;
        for shared in &self.shared {
            if store::changed(&shared.path, &lock(&shared.stamp)) {
                any |= self.read_shared(shared);
            }
        }
        any
    }

    /// Adds the picks of one file. What is remembered here already is newer and stays.
    pub(super) fn read_shared(&self, shared: &Shared) -> bool {
        match store::read(&shared.path, &self.identity) {
            Ok(None) => false,
            Ok(Some((picks, stamp))) => {
                *lock(&shared.stamp) = stamp;
                self.add(picks)
            }
            Err(error) => {
                log::warn!("{error}; ignored");
                false
            }
        }
    }

    pub(super) fn add(&self, picks: Vec<Pick>) -> bool {
        let (max, mut added) = (self.max_picks, 0);
        self.change(|table| {
            let own = table.clone();
            for pick in picks {
                if table.len() < max && table.insert(pick) {
                    added += 1;
                }
            }
            for pick in own.picks() {
                table.insert(Pick::clone(pick));
            }
            // Looked at here: what is measured again meanwhile must not be forgotten.
            lock(&self.slow).keys().for_each(|&key| table.forget(key));
        });
        added > 0
    }

    /// Writes a new pick to the shared files.
    fn share(&self, pick: &Pick) {
        for shared in &self.shared {
            let written = store::update(&shared.path, &self.identity, |there| {
                // A table of its own merges by key and lets dimensions of either side become dynamic.
                let mut table = self.table.load().emptied();
                for pick in there {
                    if table.len() < self.max_picks {
                        table.insert(pick);
                    }
                }
                table.insert(pick.clone());
                table.picks().into_iter().cloned().collect()
            });
            match written {
                // The file may hold more than this process has read, so its stamp is not taken over:
                // the next miss reads it.
                Ok(()) => {
                    if let (Some(limit), Some(folder)) = (shared.limit, shared.path.parent()) {
                        store::evict(folder, limit, &shared.path);
                    }
                }
                Err(error) => log::warn!("{error}; the pick is remembered in this process only"),
            }
        }
    }

    fn write_metrics(&self, values: &[Scalar<'_>], winner: Option<usize>, medians: &[f64]) {
        let Some(path) = &self.metrics else { return };
        let kernels = self.decision.choices();
        if let Err(error) = metrics::append(path, &self.identity.schema, kernels, values, winner, medians) {
            log::warn!("{}: cannot write the metrics: {error}", path.display());
        }
    }

    /// A watched call of this kernel took so many milliseconds.
    pub(super) fn judge(&self, kernel: usize, values: &[Scalar<'_>], ms: f64) {
        let Some(watcher) = &self.watcher else { return };
        let table = self.table.load();
        let (Ok(key), Some(pick)) = (table.key(values), table.find(values)) else { return };
        // A heuristic or the environment may have chosen another kernel than the pick, which promises nothing.
        if pick.kernel != kernel {
            return;
        }
        if let Some(seen_ms) = watcher.saw(key, ms, pick.promised_ms) {
            // Another thread may have found it slow too, and have measured it again already.
            self.change(|table| {
                if table.promises(key, pick) {
                    table.forget(key);
                    lock(&self.slow).insert(key, (kernel, pick.promised_ms, seen_ms));
                }
            });
        }
    }

    fn name_of(&self, kernel: usize) -> String {
        self.identity.kernels[kernel].0.clone()
    }

    fn context(&self, values: &[Scalar<'_>]) -> String {
        let features = self.identity.schema.features().iter();
        let pairs = features.zip(values).map(|(f, value)| format!("{}={}", f.name, value.to_value()));
        pairs.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn explain(&self) -> String {
        let mut text = self.decision.explain();
        let table = self.table.load();
        if let Some(kernel) = self.forced {
            let _ = write!(text, "\nthe environment forces {}", self.name_of(kernel));
        }
        for pick in table.picks() {
            let features = self.identity.schema.features().iter();
            let guards = features.zip(&pick.guards).map(|(f, guard)| guard.of(&f.name).to_string());
            let guards = guards.collect::<Vec<_>>().join(" and ");
            let ms = Milliseconds(pick.ms[pick.kernel]);
            let _ = write!(text, "\n{} takes {ms} while {guards}", self.name_of(pick.kernel));
            if let Some(second) = pick.best(|kernel| kernel != pick.kernel) {
                let _ = write!(text, "; then {} {}", self.name_of(second), Milliseconds(pick.ms[second]));
            }
        }
        for event in self.events.all() {
            let _ = write!(text, "\n- {event}");
        }
        text
    }
}

/// A panic of a kernel never leaves what these locks protect half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
