//! Derived features: computed from others by an expression, never logged
//! ("augmented" in PyTorch).

use std::cell::Cell;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::context::Value;
use crate::expr::{self, Expr};
use crate::fault::Invalid;
use crate::feature::{Feature, Schema};
use crate::row::Row;
use crate::shown::quoted;

/// An expression and the name of the feature that it computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DerivedFeature {
    /// The feature's name, for example `m*k`.
    pub name: String,
    /// Its expression, in [the expression language](crate::expr); it may use logged features and derived
    /// ones before it.
    pub expression: String,
}

/// Most operations that one derived feature may take for one row. They may nest as deep as they are many: a
/// chain of 10,000 overflows the stack of a thread.
const MAX_COST: u64 = 2_000;

/// The features that expressions and trees see: the logged ones in the slots of [`base`](Self::base), the
/// derived ones in the slots after them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    base: Schema,
    all: Schema,
    derived: Vec<(DerivedFeature, Expr)>,
}

impl Features {
    /// Checks each derived feature against the features before it.
    ///
    /// # Errors
    /// [`Invalid`] for the first that is malformed, mistyped, a duplicate or too costly.
    pub fn new(base: Schema, derived: &[DerivedFeature]) -> Result<Self, Invalid> {
        let mut all = base.clone();
        let mut costs = vec![1; base.len()];
        let mut resolved = Vec::with_capacity(derived.len());
        for d in derived {
            let name = quoted(&d.name);
            let wrong = |e: Invalid| Invalid(format!("derived feature {name}: {e}"));
            let parsed = expr::parse(&d.expression).map_err(wrong)?;
            let typed = parsed.resolve(&all).map_err(wrong)?;
            let mut cost: u64 = 0;
            typed.for_each(&mut |part| {
                cost =
                    cost.saturating_add(if let Expr::Feature(slot) = part { costs[slot.index] } else { 1 });
            });
            if cost > MAX_COST {
                // Derived features that use derived features multiply: computing this one could take for ever.
                return Err(Invalid(format!(
                    "derived feature {name} takes {cost} steps through the derived features that it uses; at most {MAX_COST} are allowed"
                )));
            }
            costs.push(cost);
            let mut feature = Feature::numerical(&d.name);
            feature.kind = typed.ty().kind();
            feature.description = Some(parsed.to_string());
            all.push(feature)?;
            resolved.push((d.clone(), typed));
        }
        Ok(Self { base, all, derived: resolved })
    }

    /// The logged features.
    pub fn base(&self) -> &Schema {
        &self.base
    }

    /// The logged features, followed by the derived ones.
    pub fn all(&self) -> &Schema {
        &self.all
    }

    /// The derived features with their resolved expressions; the first has slot `base().len()`.
    pub fn derived(&self) -> &[(DerivedFeature, Expr)] {
        &self.derived
    }

    /// Calls `f` with the slot of each logged feature that a feature is computed from; a logged one is its own. Some come more
    /// than once.
    pub fn for_each_logged(&self, slot: usize, f: &mut dyn FnMut(usize)) {
        match slot.checked_sub(self.base.len()) {
            None => f(slot),
            Some(at) => self.derived[at].1.for_each_feature(&mut |used| self.for_each_logged(used.index, f)),
        }
    }

    /// A row over all slots. `values` are those of the logged features, in the order of
    /// [`base`](Self::base); derived features are computed when they are asked for.
    pub fn row<'a, R: Row + ?Sized>(&'a self, values: &'a R) -> FeatureRow<'a, R> {
        FeatureRow { features: self, values, shared: &[], numbers: &[] }
    }

    /// The expressions of the derived features, followed by the parts that they share. Those in no slot of `used` are
    /// constants; it has each slot that one of its slots uses.
    pub(crate) fn shared(&self, used: &BTreeSet<usize>) -> Vec<Expr> {
        let first = self.base.len();
        let unused = &Expr::Bool(false);
        let expressions = (first..).zip(&self.derived);
        let expressions =
            expressions.map(|(slot, (_, typed))| if used.contains(&slot) { typed } else { unused });
        expr::share(&expressions.collect::<Vec<_>>(), first)
    }
}

/// A number that is not known yet: a NaN that no operation returns.
pub(crate) const UNKNOWN: f64 = f64::from_bits(0x7ff8_0000_0000_a17e);

/// See [`Features::row`].
#[derive(Clone, Copy, Debug)]
pub struct FeatureRow<'a, R: ?Sized = [Value]> {
    pub(crate) features: &'a Features,
    pub(crate) values: &'a R,
    /// The [expressions](Features::shared) to compute; empty: those of the derived features.
    pub(crate) shared: &'a [Expr],
    /// By expression: its number, or [`UNKNOWN`]; empty if none is kept.
    pub(crate) numbers: &'a [Cell<f64>],
}

impl<'a, R: Row + ?Sized> FeatureRow<'a, R> {
    /// The expression of a derived feature or of a shared part.
    pub(crate) fn expression(&self, at: usize) -> Option<&'a Expr> {
        self.shared.get(at).or_else(|| self.features.derived.get(at).map(|(_, expression)| expression))
    }

    /// Kept out of line so that reading a known number needs no call.
    #[inline(never)]
    fn compute(&self, at: usize) -> f64 {
        let x = self.expression(at).map_or(f64::NAN, |expression| expression.number(self));
        // An undefined number has one form: a program's own NaN could look unknown.
        let x = if x.is_nan() { f64::NAN } else { x };
        if let Some(number) = self.numbers.get(at) {
            number.set(x);
        }
        x
    }
}

impl<R: Row + ?Sized> Row for FeatureRow<'_, R> {
    #[inline]
    fn number(&self, slot: usize) -> f64 {
        let Some(at) = slot.checked_sub(self.features.base.len()) else { return self.values.number(slot) };
        match self.numbers.get(at).map(Cell::get) {
            Some(x) if x.to_bits() != UNKNOWN.to_bits() => x,
            _ => self.compute(at),
        }
    }

    #[inline]
    fn category(&self, slot: usize) -> Option<&str> {
        match slot.checked_sub(self.features.base.len()) {
            None => self.values.category(slot),
            Some(at) => self.expression(at)?.category(self),
        }
    }
}
