//! A heuristic bound to a decision point: whose slots are whose, whose choices are whose.
//! All names are compared here, once; deciding works with positions.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use ah_types::device::DeviceMismatch;
use ah_types::{Device, Features, Row, Scalar};

use crate::answer::Reason;
use crate::heuristic::{Heuristic, Unsure};

/// Values up to this many lie on the stack when a heuristic wants them in another order.
const ON_STACK: usize = 32;

/// Why a heuristic cannot serve a decision point.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It was learned on another device.
    #[error(transparent)]
    Device(#[from] DeviceMismatch),
    /// It needs a feature that the decision point does not have.
    #[error("it needs the feature {0:?}, which the decision point does not have")]
    Feature(String),
    /// None of its choices is one of the decision point's.
    #[error("none of its choices is one of the decision point's")]
    Choices,
}

/// A heuristic that serves a decision point.
pub(crate) struct Bound {
    heuristic: Arc<dyn Heuristic>,
    /// The decision point's slot of each of the heuristic's features; `None`: the same order.
    slots: Option<Box<[usize]>>,
    /// The decision point's position of each of the heuristic's choices.
    choices: Box<[Option<usize>]>,
    /// Every choice of the heuristic is one of the decision point's.
    complete: bool,
}

impl Bound {
    pub(crate) fn new(
        heuristic: Arc<dyn Heuristic>,
        device: &Device,
        features: &Features,
        choices: &[String],
    ) -> Result<Self, Unfit> {
        heuristic.admits(device)?;
        let slots: Box<[usize]> = heuristic
            .features()
            .into_iter()
            .map(|name| features.all().slot(name).ok_or_else(|| Unfit::Feature(name.to_owned())))
            .collect::<Result<_, _>>()?;
        let positions: Box<[Option<usize>]> =
            heuristic.choices().into_iter().map(|name| choices.iter().position(|c| c == name)).collect();
        if positions.iter().all(Option::is_none) {
            return Err(Unfit::Choices);
        }
        let same_order = slots.iter().copied().eq(0..slots.len());
        Ok(Self {
            complete: positions.iter().all(Option::is_some),
            slots: (!same_order).then_some(slots),
            choices: positions,
            heuristic,
        })
    }

    pub(crate) fn heuristic(&self) -> &dyn Heuristic {
        &*self.heuristic
    }

    /// The decision point's position of the choice to take.
    pub(crate) fn decide(
        &self,
        features: &Features,
        values: &[Scalar<'_>],
        available: Option<&dyn Fn(usize) -> bool>,
    ) -> Result<usize, Reason> {
        let passed_over = Cell::new(false);
        let decided = self.with_values(features, values, |values| match available {
            None if self.complete => self.heuristic.decide(values, &|_| true),
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

    /// The decision point's positions of the ranked choices, best first.
    pub(crate) fn ranked(
        &self,
        features: &Features,
        values: &[Scalar<'_>],
        visit: &mut dyn FnMut(usize),
    ) -> Result<(), Unsure> {
        self.with_values(features, values, |values| {
            self.heuristic.ranked(values, &mut |theirs| {
                if let Some(ours) = self.choices.get(theirs).copied().flatten() {
                    visit(ours);
                }
            })
        })
    }

    /// Calls `f` with the values in the heuristic's order.
    fn with_values<T>(
        &self,
        features: &Features,
        values: &[Scalar<'_>],
        f: impl FnOnce(&[Scalar<'_>]) -> T,
    ) -> T {
        let Some(slots) = &self.slots else { return f(values) };
        let row = features.row(values);
        let value = |slot: usize| row.scalar(slot).unwrap_or(Scalar::Number(f64::NAN));
        if slots.len() <= ON_STACK {
            let mut ordered = [Scalar::Number(f64::NAN); ON_STACK];
            for (place, &slot) in ordered.iter_mut().zip(slots) {
                *place = value(slot);
            }
            f(&ordered[..slots.len()])
        } else {
            let ordered: Vec<Scalar<'_>> = slots.iter().map(|&slot| value(slot)).collect();
            f(&ordered)
        }
    }
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound")
            .field("heuristic", &self.heuristic.name())
            .field("slots", &self.slots)
            .field("choices", &self.choices)
            .finish_non_exhaustive()
    }
}

/// All heuristics of a decision point, in order, at one generation of the registry.
#[derive(Debug)]
pub(crate) struct Bindings {
    pub(crate) generation: u64,
    pub(crate) bound: Vec<Bound>,
    /// The names of those that cannot serve, and why.
    pub(crate) unfit: Vec<(String, Unfit)>,
}

impl Bindings {
    pub(crate) fn new(
        generation: u64,
        heuristics: impl IntoIterator<Item = Arc<dyn Heuristic>>,
        device: &Device,
        features: &Features,
        choices: &[String],
    ) -> Self {
        let mut bindings = Self { generation, bound: Vec::new(), unfit: Vec::new() };
        for heuristic in heuristics {
            let name = heuristic.name().to_owned();
            match Bound::new(heuristic, device, features, choices) {
                Ok(bound) => bindings.bound.push(bound),
                Err(unfit) => bindings.unfit.push((name, unfit)),
            }
        }
        bindings
    }

    /// What the first heuristic says whose domain the values are in.
    pub(crate) fn decide(
        &self,
        features: &Features,
        values: &[Scalar<'_>],
        available: Option<&dyn Fn(usize) -> bool>,
    ) -> Result<usize, Reason> {
        let mut reason = if self.unfit.is_empty() { Reason::NoHeuristic } else { Reason::Guard };
        for bound in &self.bound {
            match bound.decide(features, values, available) {
                Err(outside @ Reason::Unsure(Unsure::Precondition)) => reason = outside,
                decided => return decided,
            }
        }
        Err(reason)
    }
}
