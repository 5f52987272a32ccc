//! Setting up a MultiKernel.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ah_types::timing::TimingPolicy;
use ah_types::{FeatureKind, Scalar};

use super::claims::Claims;
use super::event::Events;
use super::measure::POLICY;
use super::picker::{Eligible, Picker, Shared, Timer};
use super::shape_key::Dimension;
use super::store::{self, Identity};
use super::table::Table;
use super::watch::{Watch, Watcher};
use super::{MultiKernel, PicksError};
use crate::registry;
use crate::sync::{ArcSwap, AtomicBool, Mutex};
use crate::{Builder as DecisionBuilder, SetupError};

/// Sets up a [`MultiKernel`]; see [`MultiKernel::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<F> {
    decision: DecisionBuilder,
    kernels: Vec<(String, String, F)>,
    eligible: Vec<(String, Eligible)>,
    dimensions: Vec<(String, Dimension)>,
    max_picks: usize,
    policy: TimingPolicy,
    timer: Timer,
    watch: Option<Watch>,
    caches: bool,
    record: Option<PathBuf>,
    lookup: Option<Lookup>,
    metrics: Option<PathBuf>,
    appends_to_log: Option<bool>,
}

enum Lookup {
    File(PathBuf),
    Text(String),
}

/// A MultiKernel cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum MultiKernelError {
    /// The decision point is malformed: kernels without distinct names, an unknown fallback, …
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Something is said of a kernel that does not exist.
    #[error("{name}: the kernel {kernel:?} is none of {}", known.join(", "))]
    UnknownKernel {
        /// The MultiKernel.
        name: String,
        /// What was given.
        kernel: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// Something is said of a feature that does not exist or is categorical.
    #[error("{name}: {feature:?} is not a numerical feature")]
    UnknownDimension {
        /// The MultiKernel.
        name: String,
        /// What was given.
        feature: String,
    },
    /// The fallback must support every input.
    #[error(
        "{name}: the fallback {fallback:?} has an eligibility check; make a kernel that supports every input the fallback"
    )]
    FallbackNotAlways {
        /// The MultiKernel.
        name: String,
        /// The fallback.
        fallback: String,
    },
}

impl<F> Builder<F> {
    pub(super) fn new(decision: DecisionBuilder) -> Self {
        Self {
            decision,
            kernels: Vec::new(),
            eligible: Vec::new(),
            dimensions: Vec::new(),
            max_picks: 128,
            policy: POLICY,
            timer: Box::new(|run| {
                let begin = Instant::now();
                run();
                begin.elapsed().as_secs_f64() * 1e3
            }),
            watch: None,
            caches: true,
            record: None,
            lookup: None,
            metrics: None,
            appends_to_log: None,
        }
    }

    /// One more kernel. What is remembered of it counts as long as its version is the same: give
    /// the [hash of its source](crate::source_hash), or a number that you raise.
    #[allow(clippy::needless_pass_by_value)] // `.kernel("orig", 1, orig)` reads better than with `&1`.
    pub fn kernel(mut self, name: &str, version: impl ToString, function: F) -> Self {
        self.kernels.push((name.to_owned(), version.to_string(), function));
        self
    }

    /// The kernel runs only where this holds of the features' values. It is asked before every run.
    pub fn eligible(
        mut self,
        kernel: &str,
        supports: impl Fn(&[Scalar<'_>]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.eligible.push((kernel.to_owned(), Box::new(supports)));
        self
    }

    /// How a numerical feature is keyed. Without this call: [`Dimension::automatic`].
    pub fn dimension(mut self, feature: &str, dimension: Dimension) -> Self {
        self.dimensions.push((feature.to_owned(), dimension));
        self
    }

    /// Picks that are remembered at most (128 without this call); beyond, the heuristic or the
    /// fallback decides.
    pub fn max_picks(mut self, picks: usize) -> Self {
        self.max_picks = picks;
        self
    }

    /// How the kernels are measured. Without this call: [`POLICY`]. Caches are as the program leaves
    /// them, so `cold` has no effect.
    pub fn policy(mut self, policy: TimingPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// How a run is timed, in milliseconds; it must call what it is given exactly once. On a GPU:
    /// record an event before and after on the stream, and wait for the second. Without this call:
    /// the monotonic clock.
    pub fn timer(mut self, timer: impl Fn(&mut dyn FnMut()) -> f64 + Send + Sync + 'static) -> Self {
        self.timer = Box::new(timer);
        self
    }

    /// Times one call in so many, and measures a pick again that has become slow.
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Picks are not stored on disk.
    pub fn no_cache(mut self) -> Self {
        self.caches = false;
        self
    }

    /// Also writes every pick to this file, for a later build to [look up](Self::lookup).
    pub fn record(mut self, path: impl AsRef<Path>) -> Self {
        self.record = Some(path.as_ref().to_owned());
        self
    }

    /// Takes picks from a recording and never measures; where nothing was recorded, the heuristic or
    /// the fallback decides. A recording of other kernels, versions or another device is ignored
    /// with a warning.
    pub fn lookup(mut self, path: impl AsRef<Path>) -> Self {
        self.lookup = Some(Lookup::File(path.as_ref().to_owned()));
        self
    }

    /// As [`lookup`](Self::lookup), from the text of a recording: `include_str!("softmax.json")`.
    pub fn lookup_text(mut self, text: &str) -> Self {
        self.lookup = Some(Lookup::Text(text.to_owned()));
        self
    }

    /// Appends a line to this CSV file for everything that is measured.
    pub fn metrics(mut self, path: impl AsRef<Path>) -> Self {
        self.metrics = Some(path.as_ref().to_owned());
        self
    }

    /// Whether what is measured is appended to the decision point's log, so that the next
    /// heuristic knows it. Without this call: where `AUTOHEURISTIC_COLLECT` lists its name.
    pub fn append_to_log(mut self, append: bool) -> Self {
        self.appends_to_log = Some(append);
        self
    }

    /// Checks everything and reads what is remembered on disk.
    ///
    /// # Errors
    /// [`MultiKernelError`] says what does not fit. A cache or recording that cannot be used is
    /// no error but a warning.
    pub fn build(self) -> Result<MultiKernel<F>, MultiKernelError> {
        let environment = self.decision.environment_or_current();
        let names: Vec<String> = self.kernels.iter().map(|(name, ..)| name.clone()).collect();
        let decision = self.decision.choices(names.iter().cloned()).timing(self.policy).build()?;
        let name = decision.name().to_owned();
        let schema = decision.features().base().clone();

        let mut eligible: Vec<Option<Eligible>> = names.iter().map(|_| None).collect();
        for (kernel, supports) in self.eligible {
            match names.iter().position(|n| *n == kernel) {
                None => return Err(MultiKernelError::UnknownKernel { name, kernel, known: names }),
                Some(position) if position == decision.fallback_index() => {
                    return Err(MultiKernelError::FallbackNotAlways { name, fallback: kernel });
                }
                Some(position) => eligible[position] = Some(supports),
            }
        }
        let mut dimensions = vec![Dimension::default(); schema.len()];
        for (feature, dimension) in self.dimensions {
            match schema.slot(&feature) {
                Some(slot) if schema.features()[slot].kind == FeatureKind::Numerical => {
                    dimensions[slot] = dimension;
                }
                _ => return Err(MultiKernelError::UnknownDimension { name, feature }),
            }
        }
        let forced = environment.forced_kernel(&name).filter(|&kernel| {
            let exists = kernel < names.len();
            if !exists {
                log::warn!(
                    "{name}: AUTOHEURISTIC_FORCE_KERNEL names kernel {kernel}, expected 0 to {}; ignored",
                    names.len() - 1
                );
            }
            exists
        });
        let identity = Identity {
            name: name.clone(),
            device: decision.device().clone(),
            kernels: self.kernels.iter().map(|(name, version, _)| (name.clone(), version.clone())).collect(),
            schema: schema.clone(),
        };
        let lookup = self.lookup.or_else(|| environment.lookup_file(&name).map(Lookup::File));
        let mut shared = Vec::new();
        if lookup.is_none() {
            if self.caches && !environment.no_cache {
                let path = environment.picks_folder(decision.device()).join(identity.file_name());
                let limit = Some(environment.cache_limit);
                shared.push(Shared { path, stamp: Mutex::default(), limit });
            }
            if let Some(path) = self.record.or_else(|| environment.record_file(&name)) {
                shared.push(Shared { path, stamp: Mutex::default(), limit: None });
            }
        }
        let mut table = Table::new(&schema, Arc::from(dimensions));
        table.generation = registry::generation();
        table.consults = decision.has_heuristics();
        let picker = Picker {
            eligible,
            table: ArcSwap::from_pointee(table),
            changing: Mutex::new(()),
            claims: Claims::new(),
            events: Events::default(),
            policy: self.policy,
            timer: self.timer,
            measures: lookup.is_none(),
            forced,
            watcher: self.watch.map(Watcher::new),
            max_picks: self.max_picks,
            limit_told: AtomicBool::new(false),
            given_up: Mutex::new(HashSet::new()),
            slow: Mutex::new(HashMap::new()),
            metrics: self.metrics.or_else(|| environment.metrics_file(&name)),
            appends_to_log: self.appends_to_log.unwrap_or_else(|| decision.collects()),
            shared,
            identity,
            decision,
        };
        for shared in &picker.shared {
            picker.read_shared(shared);
            if shared.limit.is_some() {
                *shared.stamp.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                    store::touch(&shared.path);
            }
        }
        if let Some(lookup) = lookup {
            match recorded(&lookup, &picker.identity) {
                Ok(picks) => {
                    picker.add(picks);
                }
                Err(error) => log::warn!("{name}: {error}; the fallback runs where no heuristic decides"),
            }
        }
        Ok(MultiKernel { functions: self.kernels.into_iter().map(|(.., f)| f).collect(), picker })
    }
}

fn recorded(lookup: &Lookup, identity: &Identity) -> Result<Vec<super::table::Pick>, PicksError> {
    let (path, text) = match lookup {
        Lookup::File(path) => {
            let missing =
                || PicksError::Invalid { path: path.clone(), reason: "there is no such file".to_owned() };
            return Ok(store::read(path, identity)?.ok_or_else(missing)?.0);
        }
        Lookup::Text(text) => (PathBuf::from("(the program's own recording)"), text),
    };
    identity.parse(text).map_err(|reason| PicksError::Invalid { path, reason })
}
