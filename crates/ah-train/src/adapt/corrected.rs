//! Ranks choices by corrected scores, with their risks.
//!
//! The *risk* of a choice is the probability that it is slower than the fallback by more than the limit: the tail of
//! Student's t with 4 degrees of freedom around the difference of their corrected scores. Its spread is that of the
//! misses of held-out new inputs, one for the whole model: 200 inputs do not show more. The rest is as for trees that see
//! all of their log ([`crate::tree::risk`]).

use ah_types::{ChoiceId, Leaf, RankedChoice};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::correction::Correction;
use super::transfer::{NewInput, Reached, TimedChoice, Transfer};
use crate::data::COST_ONE;
use crate::tree::ScoredChoice;
use crate::tree::risk::{risk_of_rows, risk_ratio};

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
    /// Returns what a choice that saves this much risks for it.
    fn ratio(self, saved: f64) -> f64 {
        let tail = StudentsT::new(0.0, 1.0, FREEDOM).map(|tail| tail.sf((self.limit + saved) / self.spread));
        risk_ratio(tail.unwrap_or(1.0), saved)
    }
}

/// A choice of a leaf with its corrected score.
#[derive(Clone, Copy)]
pub struct CorrectedChoice {
    /// The choice of the model.
    pub choice: ChoiceId,
    /// The score, without what boosters add.
    pub score: f64,
    /// What it risks for what it saves. 0 beside boosters: there it depends on the input.
    pub ratio: f64,
}

/// Returns the choices of a leaf: those that it ranks, in its order, and those that new inputs measured there.
pub fn choices(
    transfer: &Transfer<'_>,
    correction: &Correction,
    risk: Risk,
    (id, leaf): (u32, &Leaf),
) -> Vec<CorrectedChoice> {
    let corrected =
        |ranked: &RankedChoice| (ranked.choice, ranked.score + correction.of(transfer, id, ranked.choice));
    let mut choices: Vec<(ChoiceId, f64)> = leaf.ranking.iter().map(corrected).collect();
    let all = (0_u32..).map(ChoiceId).take(transfer.model.choices.len());
    let local = all.filter_map(|choice| Some((choice, correction.local(id, choice)?)));
    choices.extend(local.filter(|(choice, _)| leaf.ranked(*choice).is_none()));
    let fallback = choices.iter().find(|(choice, _)| *choice == transfer.fallback).map(|c| c.1);
    let ratio = |choice: ChoiceId, score: f64| match fallback {
        _ if choice == transfer.fallback || !transfer.model.boosters.is_empty() => 0.0,
        Some(fallback) => risk.ratio(fallback - score),
        None => f64::INFINITY,
    };
    let corrected = |(choice, score)| CorrectedChoice { choice, score, ratio: ratio(choice, score) };
    choices.into_iter().map(corrected).collect()
}

/// Returns the timed choices of an input as the corrected tree ranks them, best first, as choices of the table; empty
/// if the tree has no answer.
pub fn rank(
    transfer: &Transfer<'_>,
    correction: &Correction,
    risk: Risk,
    input: &NewInput,
) -> Vec<ScoredChoice> {
    let model = &transfer.model;
    let Some(Reached { leaf: id, sums, .. }) = &input.reached else { return Vec::new() };
    let Some(leaf) = model.tree.leaf(*id as usize) else { return Vec::new() };
    let mut choices = choices(transfer, correction, risk, (*id, leaf));
    if let Some(sum) = sums.last() {
        let scoring = model.scoring();
        choices.iter_mut().for_each(|c| c.score = scoring.score(c.choice, c.score, sums));
        let fallback = choices.iter().find(|c| c.choice == transfer.fallback).map(|c| c.score);
        for choice in choices.iter_mut().filter(|c| c.choice != transfer.fallback) {
            let saved = fallback.map_or(f64::NEG_INFINITY, |fallback| fallback - choice.score);
            choice.ratio = risk_ratio(risk_of_rows(*sum), saved);
        }
    }
    let scored = |cell: &TimedChoice| {
        let corrected = choices.iter().find(|corrected| corrected.choice == cell.choice)?;
        let CorrectedChoice { score, ratio, .. } = *corrected;
        let cost = (cell.log_slowdown * COST_ONE) as u32;
        Some(ScoredChoice { choice: cell.in_table, score, ratio, cost })
    };
    let mut ranking: Vec<ScoredChoice> = input.cells.iter().filter_map(scored).collect();
    ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
    ranking
}

/// Returns the spread of the difference between a pick and the fallback, from rankings out of fold.
pub fn spread(rankings: &[Vec<ScoredChoice>], fallback: ChoiceId) -> f64 {
    let miss = |ranking: &Vec<ScoredChoice>| {
        let is_fallback = |ranked: &&ScoredChoice| ranked.choice == fallback;
        let first = ranking.first().filter(|first| !is_fallback(first))?;
        let fallback = ranking.iter().find(is_fallback)?;
        let time = |ranked: &ScoredChoice| f64::from(ranked.cost) / COST_ONE;
        Some((time(first) - time(fallback) - (first.score - fallback.score)).powi(2))
    };
    let squares: Vec<f64> = rankings.iter().filter_map(miss).collect();
    ah_types::median(&squares).map_or(LEAST_SPREAD, |m| (m / MEDIAN_SQUARE).sqrt().max(LEAST_SPREAD))
}
