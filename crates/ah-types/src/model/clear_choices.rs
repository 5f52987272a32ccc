//! The choice with the least score, found without the order of a leaf's ranking. Most inputs need no more: the ranking decides
//! only between equal scores, and where a choice is not allowed or not expected.

use super::boosters::Scoring;
use crate::choice::ChoiceId;
use crate::pick::Ranked;

/// Scores that are compared at a time: two registers of any x86-64 or Arm processor.
const LANES: usize = 4;

/// The leaves of a model's own tree, by choice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClearChoices {
    /// The number of choices.
    width: usize,
    /// By leaf and choice: the first score; infinite where the leaf does not have the choice, or a program is not expected to
    /// offer it.
    first: Vec<f64>,
    /// By leaf and choice: true if nothing but the margin can keep the choice with the least score from being taken.
    is_clear: Vec<bool>,
}

impl ClearChoices {
    pub(super) fn new(choices: usize) -> Self {
        Self { width: choices, first: Vec::new(), is_clear: Vec::new() }
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
        &self.is_clear[leaf * self.width..][..self.width]
    }

    /// Returns the expected choice with the least score in a leaf, if the ranking need not be searched for it.
    #[inline]
    pub(super) fn best(&self, leaf: usize, sums: &[i16], scoring: &Scoring) -> Option<ChoiceId> {
        let first = &self.first[leaf * self.width..][..self.width];
        let scores = |first: &[f64; LANES], sums: &[i16; LANES]| -> [f64; LANES] {
            std::array::from_fn(|lane| scoring.with_sum(first[lane], sums[lane]))
        };
        // The least score and the one after it, which is the same if two are equal.
        let (mut least, mut second) = ([f64::INFINITY; LANES], [f64::INFINITY; LANES]);
        let mut add = |scores: [f64; LANES]| {
            for ((least, second), score) in least.iter_mut().zip(&mut second).zip(scores) {
                *second = lesser(*second, greater(score, *least));
                *least = lesser(score, *least);
            }
        };
        let ((fours, rest), (sum_fours, _)) = (first.as_chunks::<LANES>(), sums.as_chunks::<LANES>());
        fours.iter().zip(sum_fours).for_each(|(first, sums)| add(scores(first, sums)));
        let mut last = [f64::INFINITY; LANES];
        let behind = rest.iter().zip(&sums[first.len() - rest.len()..]);
        last.iter_mut().zip(behind).for_each(|(to, (first, sum))| *to = scoring.with_sum(*first, *sum));
        add(last);
        let (score, second) =
            least.into_iter().zip(second).fold((f64::INFINITY, f64::INFINITY), |best, (least, second)| {
                (lesser(best.0, least), lesser(lesser(best.1, second), greater(best.0, least)))
            });
        if score >= second {
            return None;
        }
        let mut all = first.iter().zip(sums);
        let choice = all.position(|(first, sum)| scoring.with_sum(*first, *sum) == score)?;
        let is_within = || {
            let fallback = scoring.fallback.map_or(f64::INFINITY, |fallback| {
                scoring.with_sum(first[fallback.index()], sums[fallback.index()])
            });
            scoring.most(fallback, sums).is_none_or(|most| score <= most)
        };
        (self.of(leaf)[choice] && is_within()).then_some(ChoiceId(choice as u32))
    }
}

/// Returns the lesser of two numbers, in one step of the processor.
#[inline]
fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Returns the greater of two numbers, in one step of the processor.
#[inline]
fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
