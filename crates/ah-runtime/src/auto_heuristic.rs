//! A decision point of a program: it consults the learned heuristics, or collects for the next one.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_types::expr::Typed;
use ah_types::timing::TimingPolicy;
use ah_types::{Context, Device, Features, Outcome, Scalar};

use crate::answer::{Answer, Reason};
use crate::binding::Bindings;
use crate::builder::Builder;
use crate::env::Environment;
use crate::heuristic::Heuristic;
use crate::recorder::{RecordError, Recorder};
use crate::sync::{ArcSwap, Loaded};
use crate::{model_folders, registry};

/// Whether a decision point consults, collects or does neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As [the environment](crate::Environment) says; consults where it says nothing.
    #[default]
    Environment,
    /// Consults.
    Consult,
    /// Measures every choice, appends to the log and takes the fallback.
    Collect,
    /// Takes the fallback.
    Off,
}

/// Which choices to autotune among; see [`AutoHeuristic::top_k`].
pub type TopK<'a> = Result<Vec<&'a str>, Reason>;

pub(crate) type PreconditionFn = Box<dyn Fn(&[Scalar<'_>]) -> bool + Send + Sync>;

pub(crate) enum Precondition {
    Expression(Typed),
    Function(PreconditionFn),
}

/// What a [`Builder`] has checked.
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) choices: Vec<String>,
    pub(crate) fallback: usize,
    pub(crate) features: Features,
    pub(crate) precondition: Option<Precondition>,
    pub(crate) always_included: Vec<usize>,
    pub(crate) heuristics: Vec<Arc<dyn Heuristic>>,
    pub(crate) device: Device,
    pub(crate) mode: Mode,
    pub(crate) log: Option<PathBuf>,
    pub(crate) timing: TimingPolicy,
    pub(crate) environment: Environment,
}

/// A decision point: named choices, a fallback, the features of a context, and whatever
/// heuristics are known for it. Made once, asked from any thread.
///
/// The example of the [crate's front page](crate) shows it whole.
pub struct AutoHeuristic {
    name: String,
    choices: Vec<String>,
    fallback: usize,
    features: Features,
    precondition: Option<Precondition>,
    always_included: Vec<usize>,
    /// Folders whose models come first.
    model_folders: Vec<PathBuf>,
    /// Its own, before those of the registry.
    heuristics: Vec<Arc<dyn Heuristic>>,
    device: Device,
    consults: bool,
    collects: bool,
    recorder: Recorder,
    bindings: ArcSwap<Bindings>,
}

impl AutoHeuristic {
    /// Begins the set-up of the decision point of this optimization.
    pub fn builder(optimization: &str) -> Builder {
        Builder::new(optimization)
    }

    pub(crate) fn new(parts: Parts) -> Self {
        let listed = |list: &[String]| list.contains(&parts.name);
        let environment = &parts.environment;
        let (consults, collects) = match parts.mode {
            Mode::Environment => {
                (environment.consult.as_deref().is_none_or(listed), listed(&environment.collect))
            }
            Mode::Consult => (true, false),
            Mode::Collect => (false, true),
            Mode::Off => (false, false),
        };
        let path = parts.log.unwrap_or_else(|| environment.log_file(&parts.name, &parts.device));
        let recorder = Recorder::new(
            path,
            &parts.name,
            parts.features.base(),
            &parts.choices,
            &parts.device,
            parts.timing,
        );
        let heuristic = Self {
            name: parts.name,
            choices: parts.choices,
            fallback: parts.fallback,
            features: parts.features,
            precondition: parts.precondition,
            always_included: parts.always_included,
            model_folders: parts.environment.model_folders,
            heuristics: parts.heuristics,
            device: parts.device,
            consults,
            collects,
            recorder,
            bindings: ArcSwap::from_pointee(Bindings { generation: 0, bound: Vec::new(), unfit: Vec::new() }),
        };
        heuristic.bind();
        heuristic
    }

    /// The optimization.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The choices, by [`Answer::index`].
    #[must_use]
    pub fn choices(&self) -> &[String] {
        &self.choices
    }

    pub(crate) fn fallback_index(&self) -> usize {
        self.fallback
    }

    /// The device that the kernels run on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A heuristic serves and may be consulted.
    pub(crate) fn has_heuristics(&self) -> bool {
        self.consults && !self.collects && !self.bindings().bound.is_empty()
    }

    /// The features of the context, derived ones behind.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// True where this run measures every choice and takes the fallback.
    #[must_use]
    pub fn collects(&self) -> bool {
        self.collects
    }

    /// Where measurements are appended.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        self.recorder.path()
    }

    /// What to take for these values: one for each feature, in the order in which the features were given.
    ///
    /// Allocates nothing, takes no lock and does no system call.
    #[must_use]
    pub fn choose(&self, values: &[Scalar<'_>]) -> Answer<'_> {
        self.answer(values, None)
    }

    /// As [`choose`](Self::choose), among the choices for which `available` is true (by position).
    /// The fallback is taken to be available always.
    #[must_use]
    pub fn choose_among(&self, values: &[Scalar<'_>], available: &dyn Fn(usize) -> bool) -> Answer<'_> {
        self.answer(values, Some(available))
    }

    /// As [`choose`](Self::choose), from a context by name, for those who do not count nanoseconds.
    /// A feature that is missing or of the other kind is undefined.
    #[must_use]
    pub fn choose_for(&self, context: &Context) -> Answer<'_> {
        self.choose(&self.values(context))
    }

    /// Chooses, or, where this run collects, measures every choice with `feedback`, appends what
    /// it says to the log and takes the fallback.
    ///
    /// What goes wrong in appending is a warning of the `log` crate; the answer is the fallback still.
    pub fn choose_or_collect(
        &self,
        values: &[Scalar<'_>],
        mut feedback: impl FnMut(&str) -> Outcome,
    ) -> Answer<'_> {
        if self.collects && self.precondition_holds(values) {
            let outcomes = self.choices.iter().map(|choice| (choice.as_str(), feedback(choice)));
            if let Err(error) = self.recorder.append(values, outcomes) {
                log::warn!("{}: {error}", self.name);
            }
        }
        self.choose(values)
    }

    /// Hands over what the program's own autotuner measured; it is appended where this run
    /// collects. Returns whether it was.
    ///
    /// # Errors
    /// [`RecordError`]: an unknown choice, an undefined feature, or the log cannot be written.
    pub fn record_timings<'a>(
        &self,
        values: &[Scalar<'_>],
        timings: impl IntoIterator<Item = (&'a str, Outcome)>,
    ) -> Result<bool, RecordError> {
        if !self.collects || !self.precondition_holds(values) {
            return Ok(false);
        }
        self.append(values, timings)?;
        Ok(true)
    }

    /// Appends to the log whether or not this run collects.
    pub(crate) fn append<'a>(
        &self,
        values: &[Scalar<'_>],
        timings: impl IntoIterator<Item = (&'a str, Outcome)>,
    ) -> Result<(), RecordError> {
        let timings: Vec<_> = timings.into_iter().collect();
        if let Some((unknown, _)) =
            timings.iter().find(|(choice, _)| !self.choices.iter().any(|c| c == choice))
        {
            return Err(RecordError::UnknownChoice {
                found: (*unknown).to_owned(),
                known: self.choices.clone(),
            });
        }
        self.recorder.append(values, timings)
    }

    /// The `k` best choices by the heuristic's ranking, best first, then those that are always
    /// included: the ones worth autotuning.
    ///
    /// # Errors
    /// Why nothing is known: then autotune all.
    pub fn top_k(&self, values: &[Scalar<'_>], k: usize, available: &dyn Fn(usize) -> bool) -> TopK<'_> {
        if self.collects {
            return Err(Reason::Collecting);
        }
        let bindings = self.ready(values)?;
        let mut reason = if bindings.unfit.is_empty() { Reason::NoHeuristic } else { Reason::Guard };
        for bound in &bindings.bound {
            let mut best = Vec::new();
            let ranked = bound.ranked(&self.features, values, &mut |choice| {
                if best.len() < k && available(choice) {
                    best.push(choice);
                }
            });
            match ranked {
                Ok(()) if best.is_empty() && k > 0 => return Err(Reason::NotAvailable),
                Ok(()) => {
                    let also = self.always_included.iter().filter(|&&choice| available(choice));
                    for &choice in also {
                        if !best.contains(&choice) {
                            best.push(choice);
                        }
                    }
                    return Ok(best.into_iter().map(|choice| self.choices[choice].as_str()).collect());
                }
                Err(unsure) => {
                    reason = Reason::Unsure(unsure);
                    if unsure != crate::Unsure::Precondition {
                        break;
                    }
                }
            }
        }
        Err(reason)
    }

    /// The context's values by slot; undefined where it has none of the feature's kind.
    #[must_use]
    pub fn values<'a>(&self, context: &'a Context) -> Vec<Scalar<'a>> {
        let value = |feature: &ah_types::Feature| match context.get(&feature.name) {
            Some(value) if value.kind() == feature.kind => value.as_scalar(),
            _ => Scalar::Number(f64::NAN),
        };
        self.features.base().features().iter().map(value).collect()
    }

    /// In words: whether it consults or collects, which heuristics serve it, and which do not and why.
    #[must_use]
    pub fn explain(&self) -> String {
        let bindings = self.bindings();
        let state = match (self.collects, self.consults) {
            (true, _) => format!("collects into {}", self.recorder.path().display()),
            (false, true) => "consults".to_owned(),
            (false, false) => "not enabled".to_owned(),
        };
        let mut text = format!("{}: {state}; fallback {}", self.name, self.choices[self.fallback]);
        for bound in &bindings.bound {
            let _ = write!(text, "\n  {} serves", bound.heuristic().name());
        }
        for (name, unfit) in &bindings.unfit {
            let _ = write!(text, "\n  {name} does not: {unfit}");
        }
        if bindings.bound.is_empty() && bindings.unfit.is_empty() {
            text.push_str(
                "\n  no heuristic is known: register one, or give its folder in AUTOHEURISTIC_PATH",
            );
        }
        text
    }

    fn answer(&self, values: &[Scalar<'_>], available: Option<&dyn Fn(usize) -> bool>) -> Answer<'_> {
        let decided = if self.collects {
            Err(Reason::Collecting)
        } else {
            self.ready(values).and_then(|bindings| bindings.decide(&self.features, values, available))
        };
        let (index, fallback) = match decided {
            Ok(index) => (index, None),
            Err(reason) => (self.fallback, Some(reason)),
        };
        Answer { choice: &self.choices[index], index, fallback }
    }

    /// The bindings, where it consults and its own precondition holds.
    fn ready(&self, values: &[Scalar<'_>]) -> Result<Loaded<Bindings>, Reason> {
        if !self.consults {
            return Err(Reason::NotEnabled);
        }
        if !self.precondition_holds(values) {
            return Err(Reason::Precondition);
        }
        Ok(self.bindings())
    }

    fn precondition_holds(&self, values: &[Scalar<'_>]) -> bool {
        match &self.precondition {
            None => true,
            Some(Precondition::Function(holds)) => holds(values),
            Some(Precondition::Expression(typed)) => {
                typed.eval_bool(&self.features.row(values)) == Some(true)
            }
        }
    }

    fn bindings(&self) -> Loaded<Bindings> {
        let bindings = self.bindings.load();
        if bindings.generation == registry::generation() {
            return bindings;
        }
        drop(bindings);
        self.bind();
        self.bindings.load()
    }

    /// Binds every heuristic that is known now.
    #[cold]
    fn bind(&self) {
        // Read before the registry is: a change in between makes this binding stale, not lost.
        let generation = registry::generation();
        let known = model_folders::found(&self.model_folders, &self.name)
            .into_iter()
            .chain(self.heuristics.iter().cloned())
            .chain(registry::registered(&self.name));
        let bindings = Bindings::new(generation, known, &self.device, &self.features, &self.choices);
        self.bindings.store(Arc::new(bindings));
    }
}

impl fmt::Debug for AutoHeuristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoHeuristic")
            .field("name", &self.name)
            .field("choices", &self.choices)
            .field("fallback", &self.choices[self.fallback])
            .field("consults", &self.consults)
            .field("collects", &self.collects)
            .finish_non_exhaustive()
    }
}
