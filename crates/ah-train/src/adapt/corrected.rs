//! Ranks and prices choices by corrected scores.
//!
//! The *risk* of a choice is the probability that it is slower than the fallback by more than the limit: the tail of
//! Student's t with 4 degrees of freedom around the difference of their corrected scores. Its spread is that of the
//! misses of held-out new inputs, one for the whole model: 200 inputs do not show more. The *price* is the risk by what
//! the choice saves, as for trees that see all of their log ([`crate::tree::price`]).

use ah_types::{ChoiceId, Leaf, UNMEASURED, Vote, is_marked, unmarked};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::correction::Correction;
use super::evidence::{Evidence, NewInput, TimedChoice};
use crate::data::COST_ONE;
use crate::tree::{Boosted, ScoredChoice};

/// Degrees of freedom of the misses: times of kernels have tails.
const FREEDOM: f64 = 4.0;
/// The median of the square of a standard normal variable.
const MEDIAN_SQUARE: f64 = 0.4549;
/// The least spread: below it a difference is noise.
const LEAST_SPREAD: f64 = 0.02;

/// The risk of a choice, from the difference of its score and the fallback's.
#[derive(Clone, Copy, Debug)]
pub struct Risk {
    /// One standard deviation of a difference of log times.
    pub spread: f64,
    /// The logarithm of the limit.
    pub limit: f64,
}

impl Risk {
    /// Returns the price of a choice with these scores; infinite if it saves nothing.
    pub fn price(self, score: f64, fallback: f64) -> f64 {
        let saved = fallback - score;
        if saved <= 0.0 {
            return f64::INFINITY;
        }
        let Ok(tail) = StudentsT::new(0.0, 1.0, FREEDOM) else { return f64::INFINITY };
        tail.sf((self.limit + saved) / self.spread) / saved
    }
}

/// Returns a corrected tree's votes in a leaf, in the order of the old ranking. A choice that no input measured there has
/// the mark in its score, and an infinite price.
pub fn choices(
    evidence: &Evidence<'_>,
    correction: &Correction,
    risk: Risk,
    (tree, id, leaf): (usize, u32, &Leaf),
    outside: bool,
) -> Vec<Vote> {
    let corrected = |choice, score| {
        let score = unmarked(score) + correction.of(evidence, tree, id, choice);
        let old = leaf.ranked(choice).map_or(0, |ranked| ranked.measured);
        (choice, score, old + correction.measured(tree, id, choice) > 0)
    };
    let mut choices: Vec<(ChoiceId, f64, bool)> =
        leaf.places(outside).map(|place| corrected(place.choice, place.score)).collect();
    let all = (0_u32..).map(ChoiceId).take(evidence.model.choices.len());
    let local = all.filter_map(|choice| Some((choice, correction.local(tree, id, choice)?, true)));
    choices.extend(local.filter(|(choice, ..)| leaf.ranked(*choice).is_none()));
    let fallback = choices.iter().find(|(choice, ..)| *choice == evidence.fallback).map(|c| c.1);
    let priced = |(choice, score, measured): (ChoiceId, f64, bool)| Vote {
        choice,
        score: if measured { score } else { score + UNMEASURED },
        price: match fallback {
            _ if choice == evidence.fallback => 0.0,
            // With boosted trees, what the choice saves depends on the input.
            _ if measured && evidence.model.boosted.is_some() => 0.0,
            Some(fallback) if measured => risk.price(score, fallback),
            _ => f64::INFINITY,
        },
    };
    choices.into_iter().map(priced).collect()
}

/// Returns the timed choices of an input as the corrected trees rank them, best first, as choices of the table; empty
/// if the trees have no answer.
pub fn rank(
    evidence: &Evidence<'_>,
    correction: &Correction,
    risk: Risk,
    input: &NewInput,
) -> Vec<ScoredChoice> {
    let mut votes: Vec<(TimedChoice, Vote)> = Vec::new();
    for (tree, reached) in input.reached.iter().enumerate() {
        let Some(leaf) = evidence.model.trees[tree].leaf(reached.leaf as usize) else { return Vec::new() };
        let choices = choices(evidence, correction, risk, (tree, reached.leaf, leaf), reached.outside);
        let of = |cell: &TimedChoice| choices.iter().copied().find(|vote| vote.choice == cell.choice);
        if tree == 0 {
            votes.extend(input.cells.iter().filter_map(|cell| Some((*cell, of(cell)?))));
        } else {
            votes.retain_mut(|(cell, vote)| of(cell).map(|next| *vote = vote.and(next)).is_some());
        }
    }
    if evidence.model.boosted.is_some() {
        let fallback = votes.iter().find(|(_, vote)| vote.choice == evidence.fallback);
        let fallback = fallback.map(|(_, vote)| vote.score + input.added.scores[vote.choice.index()]);
        for (_, vote) in &mut votes {
            vote.score += input.added.scores[vote.choice.index()];
            if vote.choice != evidence.fallback && vote.price.is_finite() {
                vote.price = fallback.map_or(f64::INFINITY, |fallback| {
                    Boosted::price(fallback - vote.score, input.added.caution)
                });
            }
        }
    }
    votes.sort_by(|a, b| a.1.order(&b.1));
    let scored = |(cell, vote): (TimedChoice, Vote)| ScoredChoice {
        vote: Vote { choice: cell.in_table, ..vote },
        cost: (cell.log_slowdown * COST_ONE) as u32,
    };
    votes.into_iter().map(scored).collect()
}

/// Returns the spread of the difference between a pick and the fallback, from rankings out of fold.
pub fn spread(rankings: &[Vec<ScoredChoice>], fallback: ChoiceId, trees: usize) -> f64 {
    let miss = |ranking: &Vec<ScoredChoice>| {
        let is_fallback = |ranked: &&ScoredChoice| ranked.vote.choice == fallback;
        let first = ranking.first().filter(|first| !is_fallback(first) && !is_marked(first.vote.score))?;
        let fallback = ranking.iter().find(is_fallback)?;
        let time = |ranked: &ScoredChoice| f64::from(ranked.cost) / COST_ONE;
        let predicted = (unmarked(first.vote.score) - unmarked(fallback.vote.score)) / trees as f64;
        Some((time(first) - time(fallback) - predicted).powi(2))
    };
    let squares: Vec<f64> = rankings.iter().filter_map(miss).collect();
    ah_types::median(&squares).map_or(LEAST_SPREAD, |m| (m / MEDIAN_SQUARE).sqrt().max(LEAST_SPREAD))
}
