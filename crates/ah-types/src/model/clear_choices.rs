//! The choice with the least score, found without the order of a leaf's ranking. Most inputs need no more: the ranking decides
//! only between equal scores, and where a choice is not allowed or not expected.

use super::boosters::Scoring;
use super::old_pick::Ranked;
use super::row_sums::Sums;
use crate::choice::ChoiceId;

/// Scores that are compared at a time: two registers of any x86-64 or Arm processor.
const LANES: usize = 4;

/// More than the choices of a model.
const ONE: f64 = (1_u64 << 32) as f64;

/// The leaves of a model's own tree, by choice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClearChoices {
    /// The number of choices.
    choices: usize,
    /// The same, filled up to whole registers.
    width: usize,
    /// By leaf and choice: the first score; infinite where the leaf does not have the choice, or a program is not expected to
    /// offer it.
    first: Vec<f64>,
    /// By leaf and choice: true if nothing but the margin can keep the choice with the least score from being taken.
    is_clear: Vec<bool>,
}

impl ClearChoices {
    pub(super) fn new(choices: usize) -> Self {
        Self { choices, width: choices.next_multiple_of(LANES), first: Vec::new(), is_clear: Vec::new() }
    }

    /// Appends a leaf by the choices that a program is expected to offer.
    pub(super) fn append(&mut self, expected: &[Ranked], scoring: &Scoring) {
        let start = self.first.len();
        self.first.resize(start + self.width, f64::INFINITY);
        self.is_clear.resize(start + self.width, false);
        let is_fallback = |ranked: &Ranked| Some(ranked.choice) == scoring.fallback;
        // A margin compares with the fallback.
        let has_reference = scoring.margin.is_none() || expected.iter().any(is_fallback);
        for ranked in expected {
            let at = start + ranked.choice.index();
            self.first[at] = ranked.score;
            self.is_clear[at] = ranked.allowed && has_reference && !is_fallback(ranked);
        }
    }

    /// Returns by choice whether nothing but the margin can keep it from being taken where it has the least score in a leaf.
    pub(super) fn of(&self, leaf: usize) -> &[bool] {
        &self.is_clear[leaf * self.width..][..self.choices]
    }

    /// Returns the expected choice with the least score in a leaf, if the ranking need not be searched for it. `sums` are those of
    /// the choices, filled up to at least as many as a leaf has here.
    #[inline]
    pub(super) fn best(&self, leaf: usize, sums: &Sums, scoring: &Scoring) -> Option<ChoiceId> {
        let first = &self.first[leaf * self.width..][..self.width];
        let fours = || first.as_chunks::<LANES>().0.iter().zip(sums.padded().as_chunks::<LANES>().0);
        let scores = |(first, sums): (&[f64; LANES], &[i16; LANES])| -> [f64; LANES] {
            std::array::from_fn(|lane| scoring.with_sum(first[lane], sums[lane]))
        };
        let mut least = [f64::INFINITY; LANES];
        for four in fours() {
            least.iter_mut().zip(scores(four)).for_each(|(least, score)| *least = lesser(score, *least));
        }
        let score = least.into_iter().fold(f64::INFINITY, lesser);
        // The sum of the numbers of all choices with this score, each above `ONE`: below twice as much, it is one choice.
        let (mut found, mut numbers) = ([0.0; LANES], [ONE, ONE + 1.0, ONE + 2.0, ONE + 3.0]);
        for four in fours() {
            for ((found, number), other) in found.iter_mut().zip(&mut numbers).zip(scores(four)) {
                *found += if other == score { *number } else { 0.0 };
                *number += LANES as f64;
            }
        }
        let found: f64 = found.iter().sum();
        if found >= 2.0 * ONE || score == f64::INFINITY {
            return None;
        }
        let choice = (found - ONE) as usize;
        let is_within = || {
            let fallback = scoring.fallback.map_or(f64::INFINITY, |fallback| {
                scoring.with_sum(first[fallback.index()], sums[fallback.index()])
            });
            scoring.most(fallback, sums).is_none_or(|most| score <= most)
        };
        (self.is_clear[leaf * self.width + choice] && is_within()).then_some(ChoiceId(choice as u32))
    }
}

/// Returns the lesser of two numbers, in one step of the processor.
#[inline]
fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}
