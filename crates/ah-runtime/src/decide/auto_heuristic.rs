//! A decision point of a program: it consults learned heuristics, or collects timings for the next one.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use ah_model::expr::Expr;
use ah_model::{Device, Scalar, Schema};

use arc_swap::{ArcSwap, Guard};

use super::answer::{Answer, Reason};
use super::binding::{Binding, Bindings, Interface, Misfit};
#[cfg(feature = "record")]
use super::recorder::Recorder;
use crate::environment::Environment;
use crate::find;
use crate::heuristics::Heuristic;
use crate::names;
use crate::warnings::Warnings;

/// A decision point: named choices, a fallback, the features of a context, and the heuristics found for it.
/// Make it once and ask it from any thread.
///
/// The [crate's front page](crate) has a complete example.
pub struct AutoHeuristic {
    /// What its heuristics must fit.
    pub(super) interface: Interface,
    pub(super) precondition: Option<Expr>,
    /// Heuristics given to this decision point; registered ones come after them.
    pub(super) heuristics: Vec<Arc<dyn Heuristic>>,
    pub(super) consults: bool,
    pub(super) collects: bool,
    #[cfg(feature = "record")]
    pub(super) recorder: Recorder,
    /// For [`explain`](Self::explain): the names in its variables.
    pub(super) environment: Environment,
    /// Warnings of models that do not serve, of measurements that are lost, and of a MultiKernel's picks.
    pub(super) warnings: Warnings,
    pub(super) bindings: ArcSwap<Bindings>,
}

impl AutoHeuristic {
    /// The optimization.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.interface.name
    }

    /// The choices, in the order of [`Answer::index`].
    #[must_use]
    pub fn choices(&self) -> &[String] {
        &self.interface.choices
    }

    /// Whether this run asks heuristics or collects; without, it takes the fallback.
    #[cfg(feature = "record")]
    pub(crate) fn is_enabled(&self) -> bool {
        self.consults || self.collects
    }

    #[cfg(feature = "record")]
    pub(crate) fn fallback_index(&self) -> usize {
        self.interface.fallback
    }

    /// The device that the kernels run on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.interface.device
    }

    /// Whether a heuristic serves and this run consults.
    #[cfg(feature = "record")]
    pub(crate) fn has_heuristics(&self) -> bool {
        self.consults && !self.collects && !self.bindings().serving.is_empty()
    }

    /// Warns that picks are not stored: the person who runs the program, if a folder for them was asked for.
    #[cfg(feature = "record")]
    pub(crate) fn warn_unstored(&self, warning: String) {
        match &self.environment.picks {
            Some(_) => self.warnings.warn_user(warning),
            None => self.warnings.warn(warning),
        }
    }

    /// The features of the context, in the order of the values.
    #[must_use]
    pub fn features(&self) -> &Schema {
        &self.interface.features
    }

    /// Whether this run measures every choice and takes the fallback.
    #[must_use]
    pub fn collects(&self) -> bool {
        self.collects
    }

    /// The choice to take for these values: one per feature, in the order of the builder's calls.
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

    /// Describes the decision point: whether it consults or collects, which heuristics serve it, and why others
    /// do not.
    #[must_use]
    pub fn explain(&self) -> String {
        let bindings = self.bindings();
        let state = match (self.collects, self.consults) {
            #[cfg(feature = "record")]
            (true, _) => self.recorder.describe(),
            (_, true) => "consults".to_owned(),
            (_, false) => "not enabled".to_owned(),
        };
        let mut text =
            format!("{}: {state}; fallback {}", self.interface.name, self.interface.fallback_name());
        for served in bindings.served() {
            let _ = write!(text, "\n  {served}");
        }
        for (name, misfit) in &bindings.misfits {
            let _ = write!(text, "\n  {name} does not: {misfit}");
        }
        if bindings.serving.is_empty() && bindings.misfits.is_empty() {
            text.push_str("\n  no heuristic found: ");
            text += &match self.environment.model_folders.as_slice() {
                [] => "register one, or put its folder into AUTOHEURISTIC_PATH".to_owned(),
                folders => find::in_folders(folders, &self.interface.name).others,
            };
        }
        for unknown in names::unknown_in(&self.environment) {
            let _ = write!(text, "\n  {unknown}");
        }
        text
    }

    /// Explains the answer for these values: the choice, then each serving heuristic's explanation, up to the
    /// first whose domain contains the values. For people and logs, not for the hot path.
    #[must_use]
    pub fn explain_choice(&self, values: &[Scalar<'_>]) -> String {
        let mut text = format!("{}: {}\n", self.interface.name, self.choose(values));
        if let Ok(bindings) = self.ready(values) {
            let _ = bindings.first(|binding| {
                text += &binding.explain(values);
                binding.decide(values, None)
            });
        }
        text
    }

    fn answer(&self, values: &[Scalar<'_>], available: Option<&dyn Fn(usize) -> bool>) -> Answer<'_> {
        let mut slot = None;
        let decide = |binding: &Binding| {
            binding.decide(values, available).inspect_err(|reason| slot = binding.slot_of(*reason))
        };
        let decided = if self.collects {
            Err(Reason::Collecting)
        } else {
            self.ready(values).and_then(|all| all.first(decide))
        };
        let (index, fallback) = match decided {
            Ok(index) => (index, None),
            Err(reason) => (self.interface.fallback, Some(reason)),
        };
        let feature = slot.map(|slot| self.interface.features.features()[slot].name.as_str());
        Answer { choice: &self.interface.choices[index], index, fallback, feature }
    }

    /// The bindings, if this run consults and the decision point's own precondition holds.
    fn ready(&self, values: &[Scalar<'_>]) -> Result<Guard<Arc<Bindings>>, Reason> {
        if !self.consults {
            return Err(Reason::NotEnabled);
        }
        if !self.precondition_holds(values) {
            return Err(Reason::Precondition);
        }
        Ok(self.bindings())
    }

    pub(super) fn precondition_holds(&self, values: &[Scalar<'_>]) -> bool {
        let holds = |typed: &Expr| typed.truth(values) == Some(true);
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
        let in_folders = find::in_folders(&self.environment.model_folders, &self.interface.name);
        let found = in_folders
            .models
            .into_iter()
            .chain(self.heuristics.iter().cloned())
            .chain(find::registered(&self.interface.name));
        let bindings = Bindings::new(generation, found, &self.interface);
        bindings.report(&self.interface.name, &self.bindings.load(), &self.warnings);
        self.warn_unserved(&bindings, &in_folders.others);
        self.bindings.store(Arc::new(bindings));
    }

    /// Warns if the environment names models and none of them serves.
    fn warn_unserved(&self, bindings: &Bindings, others: &str) {
        let asks_models = self.consults && !self.collects && !self.environment.model_folders.is_empty();
        if !asks_models || !bindings.serving.is_empty() {
            return;
        }
        let misfit = |(name, misfit): &(String, Misfit)| format!("{name}: {misfit}");
        let why = match bindings.misfits.as_slice() {
            [] => others.to_owned(),
            misfits => misfits.iter().map(misfit).collect::<Vec<_>>().join("; "),
        };
        let name = &self.interface.name;
        self.warnings.warn_user(format!(
            "{name}: takes its fallback, because AUTOHEURISTIC_PATH has no model for it: {why}"
        ));
    }
}

impl fmt::Debug for AutoHeuristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoHeuristic")
            .field("name", &self.interface.name)
            .field("choices", &self.interface.choices)
            .field("fallback", &self.interface.fallback_name())
            .field("consults", &self.consults)
            .field("collects", &self.collects)
            .finish_non_exhaustive()
    }
}
