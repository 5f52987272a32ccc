//! A heuristic bound to a decision point. Binding compares names once and keeps positions; decisions use the
//! positions.

use std::cell::Cell;
use std::sync::Arc;

use ah_model::shown::listed;
use ah_model::{Device, DeviceMismatch, Feature, FeatureKind, Scalar, Schema, Unsure};
use smallvec::SmallVec;

use super::answer::Reason;
use crate::heuristics::Heuristic;
use crate::warnings::Warnings;

/// Up to this many values are reordered on the stack.
const ON_STACK: usize = 32;

/// Why a heuristic cannot serve a decision point.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misfit {
    /// It was learned on another device.
    #[error(transparent)]
    Device(#[from] DeviceMismatch),
    /// It has another version than the pinned one.
    #[error("its version is {found}, pinned is {pinned}")]
    Version { pinned: String, found: String },
    /// Without it, the program does something else than the heuristic was learned to compare with.
    #[error("its fallback is {learned:?}, the decision point's is {own:?}")]
    Fallback { learned: String, own: String },
    /// It needs a feature that the decision point lacks.
    #[error("it needs the feature {0:?}, which the decision point lacks")]
    Feature(String),
    /// It was learned with another kind of values, so it would decline.
    #[error("its feature {name:?} is {learned}, the decision point's is {own}")]
    Kind { name: String, learned: FeatureKind, own: FeatureKind },
    /// None of its choices is one of the decision point's.
    #[error("none of its choices is one of the decision point's")]
    Choices,
}

/// What a heuristic must fit to serve a decision point.
pub(super) struct Interface {
    /// The optimization.
    pub(super) name: String,
    pub(super) choices: Vec<String>,
    /// A position among the choices.
    pub(super) fallback: usize,
    pub(super) features: Schema,
    /// The versions that may decide. A heuristic must match all.
    pub(super) pins: Vec<String>,
    /// The device that the kernels run on.
    pub(super) device: Device,
}

impl Interface {
    pub(super) fn fallback_name(&self) -> &str {
        &self.choices[self.fallback]
    }
}

/// A heuristic that serves a decision point.
pub(super) struct Binding {
    heuristic: Arc<dyn Heuristic>,
    /// The decision point's slot of each of the heuristic's features.
    slots: Box<[usize]>,
    /// True if these slots are the heuristic's own.
    same_order: bool,
    /// The decision point's position of each of the heuristic's choices.
    choices: Box<[Option<usize>]>,
    /// True if the decision point has every choice of the heuristic.
    complete: bool,
    /// The choices that only one of the two has, as a sentence; `None` if there are none.
    difference: Option<String>,
}

impl Binding {
    /// # Errors
    /// What does not fit; the device only if all else does.
    pub(super) fn new(heuristic: Arc<dyn Heuristic>, point: &Interface) -> Result<Self, Misfit> {
        let Interface { choices, features, .. } = point;
        let own = point.fallback_name();
        if let Some(learned) = heuristic.fallback().filter(|learned| *learned != own) {
            return Err(Misfit::Fallback { learned: learned.to_owned(), own: own.to_owned() });
        }
        let slots: Box<[usize]> = heuristic
            .features()
            .into_iter()
            .map(|name| features.slot(name).ok_or_else(|| Misfit::Feature(name.to_owned())))
            .collect::<Result<_, _>>()?;
        for (&slot, learned) in slots.iter().zip(heuristic.kinds()) {
            let Feature { name, kind: own, .. } = &features.features()[slot];
            if learned != *own {
                return Err(Misfit::Kind { name: name.clone(), learned, own: *own });
            }
        }
        let theirs = heuristic.choices();
        let positions: Box<[Option<usize>]> =
            theirs.iter().map(|name| choices.iter().position(|c| c == name)).collect();
        if positions.iter().all(Option::is_none) {
            return Err(Misfit::Choices);
        }
        heuristic.admits(&point.device)?;
        let unknown = listed(choices.iter().filter(|choice| !theirs.contains(&choice.as_str())));
        let lacking = listed(theirs.iter().filter(|choice| !choices.iter().any(|own| own == *choice)));
        let never_takes =
            (!unknown.is_empty()).then(|| format!("it never takes {unknown}, which it does not know"));
        let has_more = (!lacking.is_empty()).then(|| format!("the program lacks its {lacking}"));
        let differences = never_takes.into_iter().chain(has_more);
        Ok(Self {
            complete: positions.iter().all(Option::is_some),
            difference: differences.reduce(|first, second| format!("{first}; {second}")),
            same_order: slots.iter().copied().eq(0..slots.len()),
            slots,
            choices: positions,
            heuristic,
        })
    }

    /// The decision point's position of the choice to take.
    pub(super) fn decide(
        &self,
        values: &[Scalar<'_>],
        available: Option<&dyn Fn(usize) -> bool>,
    ) -> Result<usize, Reason> {
        let passed_over = Cell::new(false);
        let decided = self.with_values(values, |values| match available {
            None if self.complete => self.heuristic.choose(values),
            _ => self.heuristic.decide(values, &|theirs| {
                let ours = self.choices.get(theirs).copied().flatten();
                let offered = ours.is_some_and(|ours| available.is_none_or(|available| available(ours)));
                passed_over.set(passed_over.get() || !offered);
                offered
            }),
        });
        match decided {
            Ok(theirs) => self.choices.get(theirs).copied().flatten().ok_or(Reason::NotAvailable),
            Err(Unsure::NoneAllowed) if passed_over.get() => Err(Reason::NotAvailable),
            Err(unsure) => Err(Reason::Unsure(unsure)),
        }
    }

    /// The decision point's slot of the feature for which the heuristic declines; `None` for a derived one.
    pub(super) fn slot_of(&self, reason: Reason) -> Option<usize> {
        let Reason::Unsure(unsure) = reason else { return None };
        self.slots.get(unsure.slot()?).copied()
    }

    /// The heuristic's own explanation of its decision.
    pub(super) fn explain(&self, values: &[Scalar<'_>]) -> String {
        self.with_values(values, |values| self.heuristic.explain(values))
    }

    /// Calls `f` with the values in the order of the heuristic's slots.
    fn with_values<T>(&self, values: &[Scalar<'_>], f: impl FnOnce(&[Scalar<'_>]) -> T) -> T {
        if self.same_order {
            return f(values);
        }
        let value = |slot: usize| values.get(slot).copied().unwrap_or(Scalar::Number(f64::NAN));
        f(&self.slots.iter().map(|&slot| value(slot)).collect::<SmallVec<[Scalar<'_>; ON_STACK]>>())
    }
}

/// All heuristics of a decision point, in order, at one generation of the registry.
#[derive(Default)]
pub(super) struct Bindings {
    pub(super) generation: u64,
    /// The heuristics that serve.
    pub(super) serving: Vec<Binding>,
    /// The names of the heuristics that cannot serve, and why.
    pub(super) misfits: Vec<(String, Misfit)>,
}

impl Bindings {
    pub(super) fn new(
        generation: u64,
        heuristics: impl IntoIterator<Item = Arc<dyn Heuristic>>,
        point: &Interface,
    ) -> Self {
        let mut bindings = Self { generation, ..Self::default() };
        for heuristic in heuristics {
            let name = heuristic.name().to_owned();
            let version = heuristic.version().unwrap_or("unknown");
            let is_other =
                |pin: &&String| heuristic.version().is_none_or(|version| !version.starts_with(pin.as_str()));
            let bound = match point.pins.iter().find(is_other) {
                Some(pin) => Err(Misfit::Version { pinned: pin.clone(), found: version.to_owned() }),
                None => Binding::new(heuristic, point),
            };
            match bound {
                Ok(binding) => bindings.serving.push(binding),
                Err(misfit) => bindings.misfits.push((name, misfit)),
            }
        }
        bindings
    }

    /// Asks the heuristics in order; returns the answer of the first one whose domain contains the values.
    pub(super) fn first<T>(&self, mut ask: impl FnMut(&Binding) -> Result<T, Reason>) -> Result<T, Reason> {
        let mut reason = if self.misfits.is_empty() { Reason::NoHeuristic } else { Reason::Guard };
        for binding in &self.serving {
            match ask(binding) {
                Err(outside @ Reason::Unsure(Unsure::Precondition)) => reason = outside,
                answer => return answer,
            }
        }
        Err(reason)
    }

    /// The names and versions of the heuristics that serve.
    fn versions(&self) -> impl Iterator<Item = (&str, &str)> {
        let heuristics = self.serving.iter().map(|binding| &binding.heuristic);
        heuristics.map(|heuristic| (heuristic.name(), heuristic.version().unwrap_or("unknown")))
    }

    /// Describes each heuristic that serves: its name, its version, and the choices that only one side has.
    pub(super) fn served(&self) -> impl Iterator<Item = String> {
        self.versions().zip(&self.serving).map(|((name, version), binding)| {
            let difference =
                binding.difference.as_ref().map_or(String::new(), |choices| format!("; {choices}"));
            format!("{name} serves (version {version}){difference}")
        })
    }

    /// Reports, if these bindings differ from those `before`, which versions decide; warns once of heuristics with other choices, and of
    /// those that are refused. One for another device is worth a warning only if none serves here.
    pub(super) fn report(&self, optimization: &str, before: &Self, warnings: &Warnings) {
        if self.served().eq(before.served()) && self.misfits == before.misfits {
            return;
        }
        for (name, version) in self.versions() {
            log::info!("{optimization}: decides with {name}, version {version}");
        }
        for binding in &self.serving {
            if let Some(difference) = &binding.difference {
                warnings.warn(format!("{optimization}: {}: {difference}", binding.heuristic.name()));
            }
        }
        let serves = !self.serving.is_empty();
        let is_expected = |misfit: &Misfit| serves && matches!(misfit, Misfit::Device(_));
        for (name, misfit) in self.misfits.iter().filter(|(_, misfit)| !is_expected(misfit)) {
            warnings.warn(format!("{optimization}: does not decide with {name}: {misfit}"));
        }
    }
}
