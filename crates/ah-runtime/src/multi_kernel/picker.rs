//! Picks the kernel to run: the part of a MultiKernel that does not know the kernels' type.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ah_model::shown::time;
use ah_model::{Feature, Scalar};
use ah_types::{Failure, Outcome, median};
use arc_swap::ArcSwap;

use super::event::Event;
use super::measure::{POLICY, winner};
use super::picks::{self, Head, Pick, Table};
use super::trial::Timer;
use crate::decide::AutoHeuristic;
use crate::find;
use crate::lock::lock;

/// Whether a kernel supports an input with these values.
pub(super) type Eligibility = Box<dyn Fn(&[Scalar<'_>]) -> bool + Send + Sync>;

/// Measures the kernels for which its argument is true; returns the outcome of each.
pub(super) type Measure<'a> = &'a mut dyn FnMut(&dyn Fn(usize) -> bool) -> Vec<Outcome>;

pub(super) struct Picker {
    pub(super) decision: AutoHeuristic,
    pub(super) eligible: Vec<Option<Eligibility>>,
    pub(super) head: Head,
    pub(super) table: ArcSwap<Table>,
    /// Held while the table is replaced.
    pub(super) changing: Mutex<()>,
    /// The keys that a thread is measuring. Others run the fallback meanwhile, so nothing is measured twice. A key for which every
    /// kernel failed stays here.
    pub(super) claimed: Mutex<HashSet<u64>>,
    /// The last events off the hot path.
    pub(super) events: Mutex<VecDeque<Event>>,
    pub(super) timer: Timer,
    /// The cache on disk, which gets every pick.
    pub(super) file: Option<PathBuf>,
    /// Held while the file is written.
    pub(super) writing: Mutex<()>,
    pub(super) forced: Option<usize>,
    pub(super) max_picks: usize,
    pub(super) limit_reported: AtomicBool,
    pub(super) appends_to_log: bool,
}

/// The right to measure a key. Dropping it gives it back, also when a kernel panics.
struct Claim<'a>(&'a Mutex<HashSet<u64>>, u64);

impl<'a> Claim<'a> {
    fn new(claimed: &'a Mutex<HashSet<u64>>, key: u64) -> Option<Self> {
        // Made only if taken, and after the lock is free: dropping a claim takes the lock and gives the key back.
        let is_taken = lock(claimed).insert(key);
        is_taken.then(|| Self(claimed, key))
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        lock(self.0).remove(&self.1);
    }
}

/// The events that are kept.
const EVENTS: usize = 64;

/// Most keys that stay claimed because every kernel failed. Beyond it a call measures again.
const MAX_GIVEN_UP: usize = 4096;

impl Picker {
    #[inline]
    pub(super) fn fallback(&self) -> usize {
        self.decision.fallback_index()
    }

    #[inline]
    pub(super) fn is_eligible(&self, table: &Table, kernel: usize, values: &[Scalar<'_>]) -> bool {
        self.eligible[kernel].as_ref().is_none_or(|eligible| eligible(values))
            && !table.has_panicked(kernel, values)
    }

    /// The kernel to run, if it is known without measuring; a call that `checks` results takes no unchecked pick. Does not allocate
    /// or lock.
    #[inline]
    pub(super) fn known(&self, values: &[Scalar<'_>], checks: bool) -> Option<usize> {
        let table = self.table.load();
        if let Some(kernel) = self.forced {
            return Some(if self.is_eligible(&table, kernel, values) { kernel } else { self.fallback() });
        }
        if table.generation != find::generation() {
            drop(table);
            self.look_for_heuristics();
            return self.known(values, checks);
        }
        if table.consults {
            let answer =
                self.decision.choose_among(values, &|kernel| self.is_eligible(&table, kernel, values));
            if answer.is_learned() {
                return Some(answer.index);
            }
        }
        let pick = table.trusted(values, checks)?;
        if self.is_eligible(&table, pick.kernel, values) {
            return Some(pick.kernel);
        }
        pick.best(|kernel| self.is_eligible(&table, kernel, values))
    }

    #[cold]
    fn look_for_heuristics(&self) {
        let generation = find::generation();
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

    /// Finds or measures a pick, because no remembered one serves. Returns the kernel to run.
    #[cold]
    pub(super) fn missed(&self, values: &[Scalar<'_>], checks: bool, measure: Measure<'_>) -> usize {
        let fallback = self.fallback();
        let table = self.table.load();
        let Ok(key) = table.key(values) else { return fallback };
        // Calls that measure nothing any more must be cheap.
        if self.is_full(&table, values) {
            self.report_limit();
            return fallback;
        }
        drop(table);
        let Some(claim) = Claim::new(&self.claimed, key) else { return fallback };
        // Another thread may have remembered a pick between the look-up and the claim.
        if let Some(kernel) = self.known(values, checks) {
            return kernel;
        }
        self.measure(values, checks, measure).unwrap_or_else(|| {
            // Every kernel failed: from now on the fallback serves this key.
            if lock(&self.claimed).len() < MAX_GIVEN_UP {
                std::mem::forget(claim);
            }
            fallback
        })
    }

    /// Logs an event, and keeps the last of them.
    fn report(&self, event: Event) {
        let level = match event {
            Event::Failed { .. } | Event::Limit { .. } => log::Level::Warn,
            _ => log::Level::Info,
        };
        log::log!(level, "{}: {event}", self.decision.name());
        let mut events = lock(&self.events);
        if events.len() == EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }

    pub(super) fn events(&self) -> Vec<Event> {
        lock(&self.events).iter().cloned().collect()
    }

    /// Whether the table has no place for a pick of these values.
    fn is_full(&self, table: &Table, values: &[Scalar<'_>]) -> bool {
        table.len() >= self.max_picks && table.find(values).is_none()
    }

    fn report_limit(&self) {
        if !self.limit_reported.swap(true, Ordering::Relaxed) {
            self.report(Event::Limit { picks: self.max_picks });
        }
    }

    fn measure(&self, values: &[Scalar<'_>], checks: bool, measure: Measure<'_>) -> Option<usize> {
        let context = self.context(values);
        let table = self.table.load();
        let outcomes = measure(&|kernel| self.is_eligible(&table, kernel, values));
        drop(table);
        for (kernel, outcome) in outcomes.iter().enumerate() {
            if let Err(Failure::Failed(reason)) = outcome {
                self.report(Event::Failed {
                    kernel: self.name_of(kernel),
                    reason: reason.clone(),
                    context: context.clone(),
                });
            }
        }
        let mut medians: Box<[Option<f64>]> =
            outcomes.iter().map(|outcome| median(outcome.as_ref().ok()?)).collect();
        let best = winner(&medians, POLICY.target_relative_error);
        if self.appends_to_log {
            let names = self.decision.choices().iter().map(String::as_str);
            let rows = outcomes.iter().map(|outcome| outcome.clone().map(|samples| POLICY.rows(&samples)));
            if let Err(error) = self.decision.append(values, names.zip(rows)) {
                self.decision.warn_unrecorded(&error);
            }
        }
        let winner = best.and_then(|kernel| Some((self.name_of(kernel), medians[kernel]?)));
        self.report(Event::Measured { context, winner });
        let kernel = best?;
        let table = self.table.load();
        let guards = table.guards(values)?;
        if let Some(before) = table.trusted(values, checks) {
            // Keep times from another input of the same key, for which other kernels were eligible.
            for ((ms, before), outcome) in medians.iter_mut().zip(&before.ms).zip(&outcomes) {
                if let Err(Failure::Skipped(_)) = outcome {
                    *ms = *before;
                }
            }
        }
        drop(table);
        let pick = Pick { guards, kernel, checked: checks, ms: medians };
        // Threads that measured at once may have filled the table: then this pick serves this call alone.
        let is_full = self.change(|table| {
            let is_full = self.is_full(table, values);
            if !is_full {
                table.insert(pick);
            }
            is_full
        });
        if is_full {
            self.report_limit();
        } else {
            self.write_file();
        }
        Some(kernel)
    }

    /// Remembers that a kernel panicked for these values: it is not called for them again, and a pick of it gives way
    /// to the next best kernel.
    #[cold]
    pub(super) fn panicked(&self, kernel: usize, values: &[Scalar<'_>], reason: String) {
        if self.change(|table| table.add_panic(kernel, values)) {
            self.write_file();
        }
        self.report(Event::Failed { kernel: self.name_of(kernel), reason, context: self.context(values) });
    }

    /// Writes all picks to the file. Of several processes, the last one wins.
    fn write_file(&self) {
        let Some(file) = &self.file else { return };
        // The table is read inside, so that of two threads the later one writes the picks of both.
        let _writing = lock(&self.writing);
        if let Err(error) = picks::write(file, &self.head, &self.table.load()) {
            self.decision.warn_unstored(format!("{error}; only this process remembers new picks"));
        }
    }

    fn features(&self) -> &[Feature] {
        self.decision.features().features()
    }

    fn name_of(&self, kernel: usize) -> String {
        self.decision.choices()[kernel].clone()
    }

    fn context(&self, values: &[Scalar<'_>]) -> String {
        let features = self.features().iter();
        let pairs = features.zip(values).map(|(f, value)| format!("{}={}", f.name, value.to_value()));
        pairs.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn explain(&self) -> String {
        let mut text = self.decision.explain();
        let table = self.table.load();
        if let Some(kernel) = self.forced
            && (self.decision.is_enabled() || kernel != self.fallback())
        {
            let _ = write!(text, "\nthe environment forces {}", self.name_of(kernel));
        }
        for pick in table.picks() {
            let features = self.features().iter();
            let guards = features.zip(&pick.guards).map(|(f, guard)| guard.of(&f.name));
            let guards = guards.collect::<Vec<_>>().join(" and ");
            let ms = |kernel: usize| time(pick.ms[kernel].unwrap_or(f64::INFINITY));
            let _ = write!(text, "\n{} takes {} while {guards}", self.name_of(pick.kernel), ms(pick.kernel));
            if let Some(second) = pick.best(|kernel| kernel != pick.kernel) {
                // Of kernels whose times tie, the first given is picked.
                let order = if pick.ms[second] < pick.ms[pick.kernel] { "tied with" } else { "then" };
                let _ = write!(text, "; {order} {} {}", self.name_of(second), ms(second));
            }
        }
        for event in self.events() {
            let _ = write!(text, "\n- {event}");
        }
        text
    }
}
