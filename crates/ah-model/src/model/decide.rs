//! Decides by a model, by its [`Tables`]. What the tables are made of, and what they compute on an input, is here too.

use ah_decide::Rule;

use super::data::Model;
use super::tables::{Sums, Tables};
use crate::choice::ChoiceId;
use crate::context::Value;
use crate::math::log2;
use crate::row::Row;
use crate::tree::{Column, Test, Tree, contains};
use crate::unsure::Unsure;

impl Model {
    /// The formula's part of the scores: with boosters the logarithm of the cost to base 2, else the cost. Nothing without a
    /// formula.
    ///
    /// # Errors
    /// The slot of the first feature of the formula, where some choice has no cost above 0.
    pub fn cost_scores(
        &self,
        values: &(impl Row + ?Sized),
        mut add: impl FnMut(ChoiceId, f64),
    ) -> Result<(), usize> {
        let Some(costs) = &self.costs else { return Ok(()) };
        let logged = self.features.base().len();
        let first = || costs.reads(logged).first().copied().unwrap_or_default();
        let class = costs.class(values).ok_or_else(first)?;
        for (choice, row) in (0..).map(ChoiceId).zip(&class.rows) {
            let cost = costs.cost(row, values, logged);
            if cost.is_nan() {
                return Err(first());
            }
            add(choice, if self.boosters.is_empty() { cost } else { log2(cost) });
        }
        Ok(())
    }

    /// The values of the logged features as a row for the model's expressions.
    pub fn row<'a, R: Row + ?Sized>(&'a self, values: &'a R) -> LoggedRow<'a, R> {
        LoggedRow { model: self, values }
    }

    /// The decision among the offered choices. `values` are those of the logged features, by slot. A
    /// choice that is not [eligible](Self::is_eligible) here counts as not offered. The fallback always counts as offered.
    ///
    /// Each call makes new [`Tables`]; keep your own for repeated decisions.
    ///
    /// # Errors
    /// The reason for declining; the program then takes the fallback.
    pub fn decide(
        &self,
        values: &[Value],
        mut offered: impl FnMut(ChoiceId) -> bool,
    ) -> Result<ChoiceId, Unsure> {
        let tables = Tables::new(self);
        let mut sums = Sums::default();
        let is_offered = |choice| self.is_eligible(choice, values) && offered(choice);
        tables.reach(self, values, &mut sums)?.pick(is_offered)
    }

    /// The choice for a program that does not list its choices: it is expected to offer the
    /// fallback, and the choices that training measured on [nearly every input](crate::RankedChoice::expected) of the leaf.
    ///
    /// # Errors
    /// The reason for declining; the program then takes the fallback.
    pub fn choose(&self, values: &[Value]) -> Result<ChoiceId, Unsure> {
        let tables = Tables::new(self);
        let mut sums = Sums::default();
        tables.reach(self, values, &mut sums)?.pick_expected(|choice| self.is_eligible(choice, values))
    }

    /// The value of a column in a row of all features. A number that training saw missing is minus infinity where it
    /// is undefined.
    ///
    /// # Errors
    /// [`Unsure::Undefined`] or [`Unsure::UnknownCategory`].
    pub fn column_value(&self, column: &Column, row: &(impl Row + ?Sized)) -> Result<f64, Unsure> {
        let slot = column.slot;
        match &column.categories {
            None => match row.number(slot) {
                x if !x.is_nan() => Ok(x),
                _ if self.missing.contains(&slot) => Ok(f64::NEG_INFINITY),
                _ => Err(Unsure::Undefined(slot)),
            },
            Some(set) => match row.category(slot).ok_or(Unsure::Undefined(slot))? {
                value if contains(set, value) => Ok(1.0),
                value if self.knows(slot, value) => Ok(0.0),
                _ => Err(Unsure::UnknownCategory(slot)),
            },
        }
    }

    /// Whether `choice` can run on an input with these values, as far as the model knows. An
    /// undefined condition counts as false.
    pub fn is_eligible<R: Row + ?Sized>(&self, choice: ChoiceId, values: &R) -> bool {
        self.eligible.get(&choice).is_none_or(|condition| condition.holds(&self.row(values)))
    }

    /// Whether equal scores have the order of the choices, and not that of a leaf: boosters or a formula change the order.
    pub fn is_by_choice(&self) -> bool {
        self.costs.is_some() || !self.boosters.is_empty()
    }

    /// The rule by which choices are scored and allowed.
    pub fn rule(&self) -> Rule {
        Rule {
            fallback: self.fallback.map(|choice| choice.0),
            unit: self.unit,
            margin: self.margin,
            are_factors: self.costs.is_some() && self.boosters.is_empty(),
        }
    }

    /// The values that the boosters compare, sorted.
    pub fn booster_columns(&self) -> Vec<&Column> {
        Self::columns(self.boosters.iter().flat_map(Tree::tests))
    }

    /// The values that these tests compare, sorted.
    pub(super) fn columns<'t>(tests: impl Iterator<Item = &'t Test>) -> Vec<&'t Column> {
        let mut columns: Vec<&Column> = tests.map(|test| &test.column).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// A row of a model's logged features; see [`Model::row`].
#[derive(Clone, Copy, Debug)]
pub struct LoggedRow<'a, R: ?Sized> {
    model: &'a Model,
    values: &'a R,
}

impl<R: Row + ?Sized> Row for LoggedRow<'_, R> {
    #[inline]
    fn number(&self, slot: usize) -> f64 {
        self.values.number(slot)
    }

    #[inline]
    fn category(&self, slot: usize) -> Option<&str> {
        // Where training saw the category missing, its missing value is the category `""`.
        self.values.category(slot).or_else(|| self.model.knows(slot, "").then_some(""))
    }
}
