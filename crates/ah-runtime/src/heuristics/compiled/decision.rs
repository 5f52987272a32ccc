//! A compiled model, and one decision by it.

use std::fmt;

use ah_types::{ChoiceId, Ensemble, Reached, Scalar, Unsure};

use super::categories::{Categories, CategorySet};
use super::program::{Inputs, Op, Registers, Step};

/// A model in the form that decides fast; see the [folder](super).
pub(crate) struct CompiledModel {
    pub(super) categories: Categories,
    pub(super) sets: Vec<CategorySet>,
    /// The steps: of the precondition, of all columns if boosters need them, of the model's own tree, and of the choices' conditions.
    pub(super) steps: Vec<Step>,
    /// What the first registers hold.
    pub(super) constants: Vec<f64>,
    /// The slots of the logged numbers that the next registers hold.
    pub(super) numbers: Vec<usize>,
    /// The number of registers.
    pub(super) registers: usize,
    /// The position of each test among the steps, its column, and where this is.
    pub(super) tests: Vec<(usize, usize, Place)>,
    /// By choice, the first step of the condition under which it can run; empty if all always can.
    pub(super) eligible: Vec<Option<usize>>,
    /// The trees.
    pub(super) ensemble: Ensemble,
    /// The columns of the ensemble.
    pub(super) columns: Vec<Column>,
    /// By column, if all are computed before the tree.
    pub(super) places: Vec<Place>,
}

/// The feature of a column.
pub(super) struct Column {
    pub slot: usize,
    /// True if training saw this number missing: tests count it as minus infinity where it is undefined.
    pub missing: bool,
}

/// The registers of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// What tests compare.
    pub value: u32,
    /// The feature: of a category, its id.
    pub feature: u32,
}

/// One decision: the values, and what is computed from them so far.
pub(crate) struct Decision<'a> {
    compiled: &'a CompiledModel,
    inputs: Inputs<'a>,
    registers: Registers<'a>,
}

impl CompiledModel {
    /// Returns what `then` makes of a decision for these values of the logged features, by slot.
    #[inline]
    pub(crate) fn decide<T>(
        &self,
        values: &[Scalar<'_>],
        then: impl FnOnce(&mut Decision<'_>) -> Result<T, Unsure>,
    ) -> Result<T, Unsure> {
        let inputs = Inputs { values, categories: &self.categories, sets: &self.sets };
        let fill = |registers: &mut [f64]| self.fill(registers, values);
        Registers::with(self.registers, fill, |registers| {
            then(&mut Decision { compiled: self, inputs, registers })
        })
    }

    #[inline(always)]
    fn fill(&self, registers: &mut [f64], values: &[Scalar<'_>]) {
        let (constants, numbers) = registers.split_at_mut(self.constants.len());
        constants.iter_mut().zip(&self.constants).for_each(|(to, constant)| *to = *constant);
        for (to, slot) in numbers.iter_mut().zip(&self.numbers) {
            *to = match values.get(*slot) {
                Some(Scalar::Number(x)) => *x,
                _ => f64::NAN,
            };
        }
    }
}

impl Decision<'_> {
    /// Returns what `then` makes of what the values reach in the trees.
    #[inline]
    pub(crate) fn reach<T>(&mut self, then: impl FnOnce(&mut Self, Reached<'_>) -> T) -> Result<T, Unsure> {
        let leaf = self.leaf()?;
        let CompiledModel { ensemble, .. } = self.compiled;
        if !ensemble.has_boosters() {
            return Ok(then(self, ensemble.reached_leaf(leaf)));
        }
        let mut sums = ensemble.no_sums();
        let (registers, places) = (self.registers.all(), &*self.compiled.places);
        ensemble.add_rows(&mut sums, |column| {
            let x = registers[places[column].value as usize];
            if x.is_nan() { self.undefined(column, places[column]) } else { Ok(x) }
        })?;
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
        let (mut at, steps) = (0, &self.compiled.steps);
        loop {
            at = self.registers.run(steps, at, self.inputs);
            match steps[at].op {
                Op::End => return Ok(steps[at].to as usize),
                Op::Test => self.check_missing(at)?,
                _ => return Err(Unsure::Precondition),
            }
            // What was missing goes left.
            at += 1;
        }
    }

    #[cold]
    fn check_missing(&self, test: usize) -> Result<(), Unsure> {
        let tests = &self.compiled.tests;
        let (_, column, place) = tests[tests.partition_point(|(at, ..)| *at < test)];
        self.undefined(column, place).map(drop)
    }

    /// Returns true if the choice can run on this input, as far as the model knows.
    pub(crate) fn is_eligible(&mut self, choice: ChoiceId) -> bool {
        let steps = &self.compiled.steps;
        let condition = self.compiled.eligible.get(choice.index()).copied().flatten();
        condition.is_none_or(|start| steps[self.registers.run(steps, start, self.inputs)].op == Op::End)
    }

    /// Returns the value of a column, if all are computed before the tree.
    #[cfg(test)]
    pub(super) fn column(&self, column: usize) -> Result<f64, Unsure> {
        let place = self.compiled.places[column];
        let x = self.registers.all()[place.value as usize];
        if x.is_nan() { self.undefined(column, place) } else { Ok(x) }
    }

    /// Returns the feature of a column, if all are computed before the tree.
    #[cfg(test)]
    pub(super) fn feature(&self, column: usize) -> f64 {
        self.registers.all()[self.compiled.places[column].feature as usize]
    }

    #[cold]
    fn undefined(&self, column: usize, place: Place) -> Result<f64, Unsure> {
        let Column { slot, missing } = self.compiled.columns[column];
        match self.registers.all()[place.feature as usize].is_nan() {
            true if missing => Ok(f64::NEG_INFINITY),
            true => Err(Unsure::Undefined(slot)),
            false => Err(Unsure::UnknownCategory(slot)),
        }
    }
}

impl fmt::Debug for CompiledModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledModel").field("steps", &self.steps.len()).finish_non_exhaustive()
    }
}
