//! A decision point of a program: it consults learned heuristics, or collects timings for the next one.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_model::expr::Expr;
use ah_model::{Device, Error, Features, Scalar};
use ah_types::log::{Collection, LOG_FORMAT, Metadata};
use ah_types::{Failure, Outcome};

use arc_swap::{ArcSwap, Guard};

use super::answer::{Answer, Reason};
use super::binding::{Bindings, Misfit};
use super::recorder::Recorder;
use crate::find;
use crate::heuristics::Heuristic;
use crate::panics::caught;
use crate::warnings::Warnings;

/// A decision point: named choices, a fallback, the features of a context, and the heuristics found for it.
/// Make it once and ask it from any thread.
///
/// The [crate's front page](crate) has a complete example.
pub struct AutoHeuristic {
    pub(super) name: String,
    pub(super) choices: Vec<String>,
    pub(super) fallback: usize,
    pub(super) features: Features,
    pub(super) precondition: Option<Expr>,
    /// Folders whose models come first.
    pub(super) model_folders: Vec<PathBuf>,
    /// Heuristics given to this decision point; registered ones come after them.
    pub(super) heuristics: Vec<Arc<dyn Heuristic>>,
    /// The versions that may decide. A heuristic must match all.
    pub(super) pins: Vec<String>,
    pub(super) device: Device,
    pub(super) consults: bool,
    pub(super) collects: bool,
    pub(super) recorder: Recorder,
    /// Warnings of models that do not serve.
    pub(super) warnings: Warnings,
    pub(super) bindings: ArcSwap<Bindings>,
}

impl AutoHeuristic {
    /// Returns the optimization.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the choices, in the order of [`Answer::index`].
    #[must_use]
    pub fn choices(&self) -> &[String] {
        &self.choices
    }

    pub(crate) fn fallback_index(&self) -> usize {
        self.fallback
    }

    /// Returns the device that the kernels run on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns true if a heuristic serves and this run consults.
    pub(crate) fn has_heuristics(&self) -> bool {
        self.consults && !self.collects && !self.bindings().serving.is_empty()
    }

    /// Returns the features of the context: logged ones, then derived ones.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Returns true if this run measures every choice and takes the fallback.
    #[must_use]
    pub fn collects(&self) -> bool {
        self.collects
    }

    /// Returns the log that measurements are appended to; `None` if the user has no folder for it.
    #[must_use]
    pub fn log_path(&self) -> Option<&Path> {
        self.recorder.path.as_deref()
    }

    /// Returns the choice to take for these values: one per feature, in the order of the builder's calls.
    ///
    /// Does not lock or call the system. Does not allocate, unless a model file has more than 128 choices, columns or derived features.
    #[must_use]
    pub fn choose(&self, values: &[Scalar<'_>]) -> Answer<'_> {
        self.answer(values, None)
    }

    /// Chooses among the choices for which `available` is true, by position. The fallback counts as always
    /// available.
    #[must_use]
    pub fn choose_among(&self, values: &[Scalar<'_>], available: &dyn Fn(usize) -> bool) -> Answer<'_> {
        self.answer(values, Some(available))
    }

    /// Chooses. If this run collects, it instead measures every choice with `feedback`, appends the outcomes to
    /// the log, and takes the fallback. `feedback` returns milliseconds, [`Failure::skipped`] or [`Failure::failed`]. A choice
    /// whose measurement panics has failed.
    ///
    /// A failure to append is a warning of the `log` crate; the answer is still the fallback. If
    /// `AUTOHEURISTIC_COLLECT` asks for the log and the program has no logger, the warning goes to standard error.
    pub fn choose_or_collect(
        &self,
        values: &[Scalar<'_>],
        mut feedback: impl FnMut(&str) -> Outcome,
    ) -> Answer<'_> {
        if self.collects && self.precondition_holds(values) {
            let mut outcome = |choice: &str| {
                caught(|| feedback(choice)).unwrap_or_else(|panic| Err(Failure::failed(panic.reason())))
            };
            let outcomes = self.choices.iter().map(|choice| (choice.as_str(), outcome(choice)));
            if let Err(error) = self.append(values, outcomes) {
                self.warn_unrecorded(&error);
            }
        }
        self.choose(values)
    }

    /// Appends the program's own measurements to the log, if this run collects. Returns true if it appended.
    ///
    /// # Errors
    /// [`Error`]: an unknown choice, an undefined feature, or the log cannot be written.
    pub fn record_timings<'a>(
        &self,
        values: &[Scalar<'_>],
        timings: impl IntoIterator<Item = (&'a str, Outcome)>,
    ) -> Result<bool, Error> {
        if !self.collects || !self.precondition_holds(values) {
            return Ok(false);
        }
        self.append(values, timings)?;
        Ok(true)
    }

    /// Appends to the log, whether this run collects or not.
    pub(crate) fn append<'a>(
        &self,
        values: &[Scalar<'_>],
        timings: impl IntoIterator<Item = (&'a str, Outcome)>,
    ) -> Result<(), Error> {
        let timings: Vec<_> = timings.into_iter().collect();
        if let Some((unknown, _)) =
            timings.iter().find(|(choice, _)| !self.choices.iter().any(|c| c == choice))
        {
            return Err(Error::Usage(format!(
                "the choice {unknown:?} is none of the decision point's: {}",
                self.choices.join(", ")
            )));
        }
        let schema = self.features.base();
        self.recorder.append(schema, values, timings, || {
            let collection = Collection {
                format: LOG_FORMAT,
                device: Some(self.device.clone()),
                timing: self.recorder.timing,
                fallback: vec![self.choices[self.fallback].clone()],
                collected: Some(false),
                tool: concat!("ah-runtime ", env!("CARGO_PKG_VERSION")).to_owned(),
                // The program's own inputs; none is drawn.
                ..Collection::default()
            };
            Metadata::new(&self.name, schema, self.choices.clone(), collection)
        })
    }

    /// Warns that measurements are not in the log.
    pub(crate) fn warn_unrecorded(&self, error: &Error) {
        self.recorder.warnings.warn(format!("{}: measurements are lost: {error}", self.name));
    }

    /// Describes the decision point: whether it consults or collects, which heuristics serve it, and why others
    /// do not.
    #[must_use]
    pub fn explain(&self) -> String {
        let bindings = self.bindings();
        let state = match (self.collects, self.consults) {
            (true, _) => match &self.recorder.path {
                Some(path) => format!("collects into {}", path.display()),
                None => "collects, but has no folder for the log: set AUTOHEURISTIC_LOG_PATH".to_owned(),
            },
            (false, true) => "consults".to_owned(),
            (false, false) => "not enabled".to_owned(),
        };
        let mut text = format!("{}: {state}; fallback {}", self.name, self.choices[self.fallback]);
        for (name, version) in bindings.versions() {
            let _ = write!(text, "\n  {name} serves (version {version})");
        }
        for (name, misfit) in &bindings.misfits {
            let _ = write!(text, "\n  {name} does not: {misfit}");
        }
        if bindings.serving.is_empty() && bindings.misfits.is_empty() {
            text.push_str("\n  no heuristic found: register one, or put its folder into AUTOHEURISTIC_PATH");
        }
        text
    }

    /// Explains the answer for these values: the choice, then each serving heuristic's explanation, up to the
    /// first whose domain contains the values. For people and logs, not for the hot path.
    #[must_use]
    pub fn explain_choice(&self, values: &[Scalar<'_>]) -> String {
        let mut text = format!("{}: {}\n", self.name, self.choose(values));
        if let Ok(bindings) = self.ready(values) {
            let _ = bindings.first(|binding| {
                text += &binding.explain(&self.features, values);
                binding.decide(&self.features, values, None)
            });
        }
        text
    }

    fn answer(&self, values: &[Scalar<'_>], available: Option<&dyn Fn(usize) -> bool>) -> Answer<'_> {
        let decided = if self.collects {
            Err(Reason::Collecting)
        } else {
            self.ready(values)
                .and_then(|all| all.first(|binding| binding.decide(&self.features, values, available)))
        };
        let (index, fallback) = match decided {
            Ok(index) => (index, None),
            Err(reason) => (self.fallback, Some(reason)),
        };
        Answer { choice: &self.choices[index], index, fallback }
    }

    /// Returns the bindings, if this run consults and the decision point's own precondition holds.
    fn ready(&self, values: &[Scalar<'_>]) -> Result<Guard<Arc<Bindings>>, Reason> {
        if !self.consults {
            return Err(Reason::NotEnabled);
        }
        if !self.precondition_holds(values) {
            return Err(Reason::Precondition);
        }
        Ok(self.bindings())
    }

    fn precondition_holds(&self, values: &[Scalar<'_>]) -> bool {
        let holds = |typed: &Expr| typed.truth(&self.features.row(values)) == Some(true);
        self.precondition.as_ref().is_none_or(holds)
    }

    fn bindings(&self) -> Guard<Arc<Bindings>> {
        let bindings = self.bindings.load();
        if bindings.generation == find::generation() {
            return bindings;
        }
        drop(bindings);
        self.bind();
        self.bindings.load()
    }

    /// Binds every heuristic that can be found now.
    #[cold]
    pub(super) fn bind(&self) {
        // Read before the registry: a change in between makes these bindings stale, and the next decision binds
        // again.
        let generation = find::generation();
        let found = find::in_folders(&self.model_folders, &self.name)
            .into_iter()
            .chain(self.heuristics.iter().cloned())
            .chain(find::registered(&self.name));
        let bindings = Bindings::new(
            generation,
            found,
            &self.pins,
            &self.device,
            &self.features,
            &self.choices,
            &self.choices[self.fallback],
        );
        bindings.report(&self.name, &self.bindings.load());
        self.warn_unserved(&bindings);
        self.bindings.store(Arc::new(bindings));
    }

    /// Warns if the environment names models and none of them serves.
    fn warn_unserved(&self, bindings: &Bindings) {
        let asks_models = self.consults && !self.collects && !self.model_folders.is_empty();
        if !asks_models || !bindings.serving.is_empty() {
            return;
        }
        let misfit = |(name, misfit): &(String, Misfit)| format!("{name}: {misfit}");
        let why = match bindings.misfits.as_slice() {
            [] => find::decided_in(&self.model_folders),
            misfits => misfits.iter().map(misfit).collect::<Vec<_>>().join("; "),
        };
        let name = &self.name;
        self.warnings.warn(format!(
            "{name}: takes its fallback, because AUTOHEURISTIC_PATH has no model for it: {why}"
        ));
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
