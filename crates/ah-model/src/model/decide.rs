//! Decides by a model. This file is the reference; `ah-runtime` and generated code decide the same.

use std::collections::BTreeSet;

use ah_decide::{Ranked, Rule, pick};

use super::data::Model;
use crate::choice::ChoiceId;
use crate::context::Value;
use crate::math::log2;
use crate::row::Row;
use crate::tree::{Column, Leaf, RankedChoice, Tree, contains};
use crate::unsure::Unsure;

impl Model {
    /// Returns what the formula adds to scores: with boosters the logarithm of the cost to base 2, else the cost. Nothing without a
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

    /// Returns the values of the logged features as a row for the model's expressions.
    pub fn row<'a, R: Row + ?Sized>(&'a self, values: &'a R) -> LoggedRow<'a, R> {
        LoggedRow { model: self, values }
    }

    /// Returns what to choose among the offered choices. `values` are those of the logged features, by slot. A
    /// choice that is not [eligible](Self::is_eligible) here counts as not offered. The fallback always counts as offered.
    ///
    /// # Errors
    /// The reason for declining; the program then takes the fallback.
    pub fn decide(
        &self,
        values: &[Value],
        mut offered: impl FnMut(ChoiceId) -> bool,
    ) -> Result<&RankedChoice, Unsure> {
        let (leaf, sums, costs) = self.reached(values)?;
        let offered = |choice| self.is_eligible(ChoiceId(choice), values) && offered(ChoiceId(choice));
        let choice = pick(self.ranked(leaf, &sums, &costs), self.fallback.map(|id| id.0), offered);
        choice.and_then(|choice| leaf.ranked(ChoiceId(choice))).ok_or(Unsure::NoneAllowed)
    }

    /// Returns the choice for a program that does not list its choices: it is expected to offer the
    /// fallback, and the choices that training measured on [nearly every input](RankedChoice::expected) of the leaf.
    ///
    /// # Errors
    /// The reason for declining; the program then takes the fallback.
    pub fn choose(&self, values: &[Value]) -> Result<&RankedChoice, Unsure> {
        let leaf = self.leaf(values)?;
        self.decide(values, |choice| leaf.is_expected(choice))
    }

    /// Returns all choices that the heuristic ranks here, best first.
    ///
    /// # Errors
    /// The reason for declining, as in [`decide`](Self::decide).
    pub fn ranking(&self, values: &[Value]) -> Result<Vec<Ranked>, Unsure> {
        let (leaf, sums, costs) = self.reached(values)?;
        Ok(self.ranked(leaf, &sums, &costs))
    }

    /// Returns the leaf that these values reach.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn leaf(&self, values: &[Value]) -> Result<&Leaf, Unsure> {
        let logged = self.row(values);
        if self.precondition.as_ref().is_some_and(|p| !p.holds(&logged)) {
            return Err(Unsure::Precondition);
        }
        let row = self.features.row(&logged);
        self.tree.path(|column| self.column_value(column, &row)).map(|(leaf, ..)| leaf)
    }

    /// Returns the value of a column in a row of all features. A number that training saw missing is minus infinity where it
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

    /// Returns the leaf that these values reach, the sum of the boosters' rows, and what the formula adds to scores. Every column of the boosters must have a value,
    /// whether the paths of this input test it or not.
    fn reached(&self, values: &[Value]) -> Result<(&Leaf, Vec<i16>, Vec<f64>), Unsure> {
        let (leaf, logged) = (self.leaf(values)?, self.row(values));
        let row = self.features.row(&logged);
        let value = |column: &Column| self.column_value(column, &row);
        self.booster_columns().iter().try_for_each(|column| value(column).map(drop))?;
        let mut sums = vec![0; self.choices.len()];
        for tree in &self.boosters {
            let (numbers, ..) = tree.path(value)?;
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += i16::from(*number));
        }
        let mut costs = Vec::new();
        self.cost_scores(&logged, |_, cost| costs.push(cost)).map_err(Unsure::Undefined)?;
        Ok((leaf, sums, costs))
    }

    /// Returns true if `choice` can run on an input with these values, as far as the model knows. An
    /// undefined condition counts as false.
    pub fn is_eligible<R: Row + ?Sized>(&self, choice: ChoiceId, values: &R) -> bool {
        self.eligible.get(&choice).is_none_or(|condition| condition.holds(&self.row(values)))
    }

    /// Returns true if equal scores have the order of the choices, and not that of a leaf: boosters or a formula change the order.
    pub fn is_by_choice(&self) -> bool {
        self.costs.is_some() || !self.boosters.is_empty()
    }

    /// Returns the rule by which choices are scored and allowed.
    pub fn rule(&self) -> Rule {
        Rule {
            fallback: self.fallback.map(|choice| choice.0),
            unit: self.unit,
            margin: self.margin,
            are_factors: self.costs.is_some() && self.boosters.is_empty(),
        }
    }

    /// Returns the values that the boosters compare, sorted.
    pub fn booster_columns(&self) -> BTreeSet<&Column> {
        self.boosters.iter().flat_map(Tree::tests).map(|test| &test.column).collect()
    }

    /// Returns the ranking of a leaf with this sum of rows and these scores of the formula, best first. Equal ones have the order of
    /// the leaf, with boosters or a formula that of the choices.
    fn ranked(&self, leaf: &Leaf, sums: &[i16], costs: &[f64]) -> Vec<Ranked> {
        let are_factors = self.rule().are_factors;
        let score = |Ranked { choice, score, .. }: Ranked| {
            let sum = || score + self.unit * f64::from(sums[choice as usize]);
            match costs.get(choice as usize) {
                Some(cost) if are_factors => cost * score,
                Some(cost) => cost + sum(),
                None => sum(),
            }
        };
        let scored = leaf.ranking.iter().map(|ranked| ranked.ranked(self.fallback));
        let scored = scored.map(|ranked| Ranked { score: score(ranked), ..ranked });
        let mut ranking: Vec<Ranked> = scored.collect();
        let is_fallback = |ranked: &Ranked| Some(ChoiceId(ranked.choice)) == self.fallback;
        if let Some(margin) = self.margin {
            let fallback = ranking.iter().find(|ranked| is_fallback(ranked));
            // Where training never saw the fallback it cannot run.
            let unseen = if self.fallback.is_some() { f64::INFINITY } else { f64::NEG_INFINITY };
            let most = fallback.map_or(unseen, |fallback| fallback.score) - margin;
            ranking
                .iter_mut()
                .for_each(|ranked| ranked.allowed &= ranked.score <= most || is_fallback(ranked));
        }
        if self.is_by_choice() {
            ranking.sort_by_key(|ranked| ranked.choice);
        }
        ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
        ranking
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
