//! A compiled model, and one decision by it.

use std::fmt;

use ah_types::{ChoiceId, Ensemble, Reached, Scalar, Unsure};

use super::categories::Categories;

/// Features remembered during a decision; any beyond these are computed at each use. Our learned models use
/// 5 to 30.
pub(super) const REMEMBERED: usize = 48;

/// Marks a feature as not computed yet: a NaN that no arithmetic on other numbers returns.
pub(super) const PENDING: f64 = f64::from_bits(0x7ff8_5045_4e44_494e);

/// Computes a value for the current decision.
pub(super) type Code<T> = Box<dyn Fn(&mut Decision<'_>) -> T + Send + Sync>;

/// A model in the form that decides fast; see the [folder](super).
pub(crate) struct CompiledModel {
    pub(super) categories: Categories,
    /// The computed features. Each comes after the features that it uses.
    pub(super) features: Vec<Feature>,
    pub(super) precondition: Option<Code<Option<bool>>>,
    /// By choice, the condition under which it can run; empty if all always can.
    pub(super) eligible: Vec<Option<Code<Option<bool>>>>,
    /// The trees.
    pub(super) ensemble: Ensemble,
    /// The columns of the ensemble.
    pub(super) columns: Vec<Column>,
}

/// A value that trees compare.
pub(super) struct Column {
    pub(super) source: Source,
    /// True if training saw this number missing: tests count it as minus infinity where it is undefined.
    pub(super) missing: bool,
}

/// Where the value of a column is.
pub(super) enum Source {
    /// The logged number in this slot.
    Logged(usize),
    /// The number of the feature at this position in [`CompiledModel::features`].
    Computed(usize),
    /// 1 if the feature at this position is one of the categories of these ids, and 0 if it is another one.
    Categories(usize, Box<[f64]>),
}

/// A feature that a decision computes at most once.
pub(super) struct Feature {
    pub(super) slot: usize,
    pub(super) code: Code<f64>,
    /// The ids of the categories that training saw, sorted.
    pub(super) known: Box<[u32]>,
}

/// One decision: the values, and the features computed from them so far.
pub(crate) struct Decision<'a> {
    compiled: &'a CompiledModel,
    values: &'a [Scalar<'a>],
    remembered: [f64; REMEMBERED],
}

impl CompiledModel {
    /// Begins a decision for these values of the logged features, by slot.
    #[inline]
    pub(crate) fn decide<'a>(&'a self, values: &'a [Scalar<'a>]) -> Decision<'a> {
        Decision { compiled: self, values, remembered: [PENDING; REMEMBERED] }
    }
}

impl<'a> Decision<'a> {
    /// Returns what `then` makes of what the values reach in the trees.
    #[inline]
    pub(crate) fn reach<T>(&mut self, then: impl FnOnce(&mut Self, Reached<'_>) -> T) -> Result<T, Unsure> {
        let leaf = self.leaf()?;
        let CompiledModel { ensemble, columns, .. } = self.compiled;
        if !ensemble.has_boosters() {
            return Ok(then(self, ensemble.reached(leaf, &[])));
        }
        let mut sums = ensemble.no_sums();
        ensemble.add_rows(&mut sums, |column| self.column(&columns[column]))?;
        Ok(then(self, ensemble.reached(leaf, &sums)))
    }

    /// Returns the choice for a program that does not list its choices.
    pub(crate) fn choose(&mut self) -> Result<ChoiceId, Unsure> {
        let CompiledModel { ensemble, eligible, .. } = self.compiled;
        if eligible.is_empty() && !ensemble.has_boosters() {
            return ensemble.pick_of_leaf(self.leaf()?).ok_or(Unsure::NoneAllowed);
        }
        self.reach(|decision, reached| reached.pick_expected(|choice| decision.is_eligible(choice)))?
    }

    /// Returns the number of the leaf that the values reach in the model's own tree.
    #[inline]
    fn leaf(&mut self) -> Result<usize, Unsure> {
        let CompiledModel { ensemble, columns, .. } = self.compiled;
        self.check_precondition()?;
        ensemble.leaf(|column| self.column(&columns[column]))
    }

    #[inline]
    fn check_precondition(&mut self) -> Result<(), Unsure> {
        match &self.compiled.precondition {
            Some(holds) if holds(self) != Some(true) => Err(Unsure::Precondition),
            _ => Ok(()),
        }
    }

    /// Returns true if the choice can run on this input, as far as the model knows.
    pub(crate) fn is_eligible(&mut self, choice: ChoiceId) -> bool {
        let condition = self.compiled.eligible.get(choice.index()).and_then(Option::as_ref);
        condition.is_none_or(|holds| holds(self) == Some(true))
    }

    /// Returns the value of a column.
    #[inline]
    pub(super) fn column(&mut self, column: &Column) -> Result<f64, Unsure> {
        let (x, slot) = match column.source {
            Source::Logged(slot) => (self.logged(slot), slot),
            Source::Computed(feature) | Source::Categories(feature, _) => {
                (self.computed(feature), self.compiled.features[feature].slot)
            }
        };
        match &column.source {
            _ if x.is_nan() && column.missing => Ok(f64::NEG_INFINITY),
            _ if x.is_nan() => Err(Unsure::Undefined(slot)),
            Source::Logged(_) | Source::Computed(_) => Ok(x),
            Source::Categories(_, categories) if categories.contains(&x) => Ok(1.0),
            &Source::Categories(feature, _) if self.knows(feature, x) => Ok(0.0),
            Source::Categories(..) => Err(Unsure::UnknownCategory(slot)),
        }
    }

    // Checked to be 0 or more; made from a u32.
    fn knows(&self, feature: usize, category: f64) -> bool {
        category >= 0.0 && self.compiled.features[feature].known.binary_search(&(category as u32)).is_ok()
    }

    /// Returns the logged number in this slot; NaN if undefined.
    #[inline(always)]
    pub(super) fn logged(&self, slot: usize) -> f64 {
        match self.values.get(slot) {
            Some(Scalar::Number(x)) => *x,
            _ => f64::NAN,
        }
    }

    /// Returns the id of the category in this slot; `missing` if undefined.
    pub(super) fn category(&self, slot: usize, missing: f64) -> f64 {
        match self.values.get(slot) {
            Some(Scalar::Bool(holds)) => f64::from(*holds),
            Some(Scalar::Category(name)) => self.compiled.categories.id(name),
            Some(Scalar::Number(_)) | None => missing,
        }
    }

    /// Returns this feature's value; computes it at its first use.
    #[inline(always)]
    pub(super) fn computed(&mut self, feature: usize) -> f64 {
        match self.remembered.get(feature) {
            Some(x) if x.to_bits() != PENDING.to_bits() => *x,
            _ => self.compute(feature),
        }
    }

    #[inline(never)]
    fn compute(&mut self, feature: usize) -> f64 {
        let x = (self.compiled.features[feature].code)(self);
        if let Some(remembered) = self.remembered.get_mut(feature) {
            *remembered = x;
        }
        x
    }
}

impl fmt::Debug for CompiledModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledModel").field("features", &self.features.len()).finish_non_exhaustive()
    }
}
