//! A compiled model, and one decision by it.

use std::fmt;

use ah_types::{ChoiceId, Ensemble, Reached, Row, Scalar, Unsure};

use super::categories::{Categories, CategorySet};
use super::program::{Inputs, Op, Step, run, with_registers};

/// A model in the form that decides fast; see the [folder](super).
pub(crate) struct CompiledModel {
    pub(super) categories: Categories,
    pub(super) sets: Vec<CategorySet>,
    /// The steps: of the precondition, of all columns if boosters need them, of the model's own tree, and of the choices' conditions.
    pub(super) steps: Vec<Step>,
    /// What the registers hold before the steps.
    pub(super) initial: Vec<f64>,
    /// The register of the first logged number; those of the others follow.
    pub(super) first_number: usize,
    /// The slots of the logged numbers.
    pub(super) numbers: Vec<usize>,
    /// The steps that load the categories that every decision needs.
    pub(super) loaded: Vec<Step>,
    /// The first step of the tree, if all columns are computed before it; else 0.
    pub(super) start: usize,
    /// The position of each test among the steps, its column, and where this is.
    pub(super) tests: Vec<(usize, usize, Place)>,
    /// By choice, the first step of the condition under which it can run; empty if all always can.
    pub(super) eligible: Vec<Option<usize>>,
    /// The trees.
    pub(super) ensemble: Ensemble,
    /// The columns of the ensemble.
    pub(super) columns: Vec<Column>,
    /// By column, if all are computed before the tree. Their values are in the first registers.
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
    registers: &'a mut [f64],
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
        with_registers(&self.initial, |registers| {
            for (register, slot) in registers[self.first_number..].iter_mut().zip(&self.numbers) {
                *register = values.number(*slot);
            }
            for Step { to, operands: [missing, _, slot], .. } in &self.loaded {
                registers[*to as usize] = inputs.category(*slot, registers[*missing as usize]);
            }
            then(&mut Decision { compiled: self, inputs, registers })
        })
    }
}

impl Decision<'_> {
    /// Returns what `then` makes of what the values reach in the trees.
    #[inline]
    pub(crate) fn reach<T>(&mut self, then: impl FnOnce(&mut Self, Reached<'_>) -> T) -> Result<T, Unsure> {
        let (leaf, _) = self.leaf()?;
        let CompiledModel { ensemble, .. } = self.compiled;
        if !ensemble.has_boosters() {
            return Ok(then(self, ensemble.reached_leaf(leaf)));
        }
        let mut sums = ensemble.no_sums();
        let places = &*self.compiled.places;
        let values = &self.registers[..places.len()];
        ensemble.add_rows(&mut sums, values, |column| self.undefined(column, places[column]))?;
        Ok(then(self, ensemble.reached(leaf, &sums)))
    }

    /// Returns the choice for a program that does not list its choices.
    #[inline(always)]
    pub(crate) fn choose(&mut self) -> Result<ChoiceId, Unsure> {
        let CompiledModel { ensemble, .. } = self.compiled;
        if !ensemble.has_boosters() {
            let (leaf, is_eligible) = self.leaf()?;
            return match ensemble.pick_of_leaf(leaf).filter(|_| is_eligible) {
                Some(pick) => Ok(pick),
                None => ensemble.reached_leaf(leaf).pick_expected(|choice| self.is_eligible(choice)),
            };
        }
        self.reach(|decision, reached| reached.pick_expected(|choice| decision.is_eligible(choice)))?
    }

    /// Returns the number of the leaf that the values reach in the model's own tree, and whether its pick is eligible.
    #[inline(always)]
    fn leaf(&mut self) -> Result<(usize, bool), Unsure> {
        let (mut at, steps) = (self.compiled.start, &self.compiled.steps);
        if at > 0 && run::<true>(self.registers, steps, 0, self.inputs) + 1 < at {
            return Err(Unsure::Precondition);
        }
        loop {
            at = run::<false>(self.registers, steps, at, self.inputs);
            match steps[at] {
                Step { op: Op::End, to, .. } => return Ok((to as usize, true)),
                Step { op: Op::Test, .. } => self.check_missing(at)?,
                Step { to: 0, .. } => return Err(Unsure::Precondition),
                Step { to, .. } => return Ok((to as usize - 1, false)),
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
        condition
            .is_none_or(|start| steps[run::<false>(self.registers, steps, start, self.inputs)].op == Op::End)
    }

    #[cold]
    fn undefined(&self, column: usize, place: Place) -> Result<f64, Unsure> {
        let Column { slot, missing } = self.compiled.columns[column];
        match self.registers[place.feature as usize].is_nan() {
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
