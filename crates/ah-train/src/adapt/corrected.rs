//! The old trees with corrected scores: judged on new inputs out of fold, and written as a model.
//!
//! The *risk* of a choice in a tree without boosters is the probability that it is slower than the fallback by more than the
//! limit: the tail of Student's t with 4 degrees of freedom around the difference of their corrected scores. Its spread is that
//! of the misses of held-out new inputs, one for the whole model: 200 inputs do not show more. Boosters keep their risks.

use ah_types::{ChoiceId, Model, Node, RankedChoice};
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::correction::{Correction, SHRINKAGES};
use super::old_model::OldModel;
use crate::data::split::Partition;
use crate::data::{COST_ONE, Table};
use crate::tree::ScoredChoice;
use crate::tree::leaves::{by_evidence, rounded};
use crate::tree::risk::{margin, risk_of_rows, risk_ratio};

/// Degrees of freedom of the misses: times of kernels have tails.
const FREEDOM: f64 = 4.0;
/// The median of the square of a standard normal variable.
const MEDIAN_SQUARE: f64 = 0.4549;
/// The least spread: below it a difference is noise.
const LEAST_SPREAD: f64 = 0.02;
/// New inputs that must lack a choice that the old leaves would expect there, before a program that does not list its
/// choices is no longer expected to offer it.
const ABSENT: usize = 3;

/// The old trees with corrected scores.
pub struct Corrected<'a> {
    pub old: &'a OldModel,
    table: &'a Table,
    /// The fallback, as a choice of the table.
    fallback: ChoiceId,
    /// The logarithm of the promise's limit.
    limit: f64,
    /// What the node above weighs.
    pub shrinkage: f64,
    /// One standard deviation of a difference of corrected scores.
    spread: f64,
    /// The rankings of the inputs that each part holds out, by the others: the row of the table, and its timed choices.
    pub rankings: Vec<(u32, Vec<ScoredChoice>)>,
}

impl<'a> Corrected<'a> {
    /// Corrects the scores by the training inputs of each part, and ranks the inputs that it holds out. The shrinkage is the one
    /// that predicts their times best: the error is smoother than the loss of the decisions.
    pub fn new(
        old: &'a OldModel,
        table: &'a Table,
        (fallback, limit): (ChoiceId, f64),
        parts: &[Partition],
    ) -> Self {
        let tried = SHRINKAGES.into_iter().map(|shrinkage| {
            let correct =
                |part: &Partition| Correction::new(old, &part.training, table.choices.len(), shrinkage);
            let corrections: Vec<Correction> = parts.par_iter().map(correct).collect();
            let error = |(correction, part): (&Correction, &Partition)| -> f64 {
                part.held_out.iter().filter_map(|&row| Some(correction.error(old.input(row)?))).sum()
            };
            let error: f64 = corrections.iter().zip(parts).map(error).sum();
            (error, shrinkage, corrections)
        });
        // One after the other: the corrections of a large tree are large.
        let best = tried.reduce(|best, next| if next.0 < best.0 { next } else { best });
        let (_, shrinkage, corrections) = best.unwrap_or_default();
        let mut corrected =
            Self { old, table, fallback, limit: limit.ln(), shrinkage, spread: 1.0, rankings: Vec::new() };
        let rank = |corrected: &Self| {
            let of_part = |(correction, part): (&Correction, &Partition)| {
                part.held_out.iter().map(|&row| (row, corrected.rank(correction, row))).collect::<Vec<_>>()
            };
            corrections.iter().zip(parts).flat_map(of_part).collect()
        };
        corrected.rankings = rank(&corrected);
        corrected.spread = corrected.spread();
        corrected.rankings = rank(&corrected);
        corrected
    }

    /// Returns the timed choices of an input, best first; empty if the model has no answer.
    fn rank(&self, correction: &Correction, row: u32) -> Vec<ScoredChoice> {
        let Some(input) = self.old.input(row) else { return Vec::new() };
        let score = |choice: ChoiceId, old: f64| old + correction.of(input.leaf, choice);
        let fallback = input.choices.iter().find(|scored| scored.choice == self.fallback);
        let fallback = fallback.map(|scored| score(scored.choice, scored.score));
        let mut ranking: Vec<ScoredChoice> = Vec::new();
        for scored in &input.choices {
            let Some(cell) = self.table.cell(row, scored.choice) else { continue };
            let (choice, score) = (scored.choice, score(scored.choice, scored.score));
            let ratio = match choice == self.fallback {
                true => 0.0,
                false => self.ratio(fallback.map(|fallback| fallback - score), input.risk),
            };
            ranking.push(ScoredChoice { choice, score, ratio, cost: (cell.log_slowdown * COST_ONE) as u32 });
        }
        ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
        ranking
    }

    /// Returns what another choice than the fallback risks for what it saves over it. `risk` is the sum of the boosters' rows.
    fn ratio(&self, saved: Option<f64>, risk: Option<i16>) -> f64 {
        let Some(saved) = saved else { return f64::INFINITY };
        let tail = |saved: f64| {
            let tail = StudentsT::new(0.0, 1.0, FREEDOM).map(|t| t.sf((self.limit + saved) / self.spread));
            tail.unwrap_or(1.0)
        };
        risk_ratio(risk.map_or_else(|| tail(saved), risk_of_rows), saved)
    }

    /// Returns the spread of the difference between a pick and the fallback.
    fn spread(&self) -> f64 {
        let miss = |(_, ranking): &(u32, Vec<ScoredChoice>)| {
            let first = ranking.first().filter(|first| first.choice != self.fallback)?;
            let fallback = ranking.iter().find(|ranked| ranked.choice == self.fallback)?;
            let time = |ranked: &ScoredChoice| f64::from(ranked.cost) / COST_ONE;
            Some((time(first) - time(fallback) - (first.score - fallback.score)).powi(2))
        };
        let squares: Vec<f64> = self.rankings.iter().filter_map(miss).collect();
        ah_types::median(&squares).map_or(LEAST_SPREAD, |m| (m / MEDIAN_SQUARE).sqrt().max(LEAST_SPREAD))
    }

    /// Returns the model with scores that these inputs correct; choices with a risk ratio above `threshold` are not allowed. The
    /// evidence of the leaves stays that of the old log.
    pub fn model(&self, rows: &[u32], threshold: f64) -> Model {
        let correction = Correction::new(self.old, rows, self.table.choices.len(), self.shrinkage);
        let mut model = self.old.model.clone();
        let is_boosted = !model.boosters.is_empty();
        model.margin = margin(threshold).filter(|_| is_boosted);
        let absent = self.absent(rows);
        for (id, leaf) in self.old.model.tree.leaves() {
            let corrected = |ranked: &RankedChoice| match self.old.in_table[ranked.choice.index()] {
                Some(choice) => ranked.score + correction.of(id as u32, choice),
                None => ranked.score,
            };
            let fallback =
                leaf.ranking.iter().find(|ranked| Some(ranked.choice) == model.fallback).map(corrected);
            let mut new = leaf.clone();
            for ranked in &mut new.ranking {
                let score = corrected(ranked);
                let is_allowed = is_boosted || Some(ranked.choice) == model.fallback || {
                    let saved = fallback.map(|fallback| fallback - score);
                    self.ratio(saved, None) <= threshold
                };
                ranked.score = rounded(score, 5);
                ranked.allowed = is_allowed;
                ranked.expected &= !absent[ranked.choice.index()];
            }
            new.ranking.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.choice.cmp(&b.choice)));
            if is_boosted {
                by_evidence(&mut new);
            }
            model.tree.nodes[id] = Node::Leaf(new);
        }
        model
    }

    /// Returns, by choice of the model, whether the new inputs never measured it although their leaves would expect it.
    fn absent(&self, rows: &[u32]) -> Vec<bool> {
        let model = &self.old.model;
        let (mut expected, mut found) = (vec![0; model.choices.len()], vec![false; model.choices.len()]);
        for input in rows.iter().filter_map(|&row| self.old.input(row)) {
            let is_timed = |choice: ChoiceId| {
                let choice = self.old.in_table[choice.index()];
                input.choices.iter().any(|scored| Some(scored.choice) == choice)
            };
            for ranked in model.tree.leaf(input.leaf as usize).into_iter().flat_map(|leaf| &leaf.ranking) {
                expected[ranked.choice.index()] += usize::from(ranked.expected);
                found[ranked.choice.index()] |= is_timed(ranked.choice);
            }
        }
        expected.iter().zip(&found).map(|(&expected, found)| expected >= ABSENT && !found).collect()
    }
}
