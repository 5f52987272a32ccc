//! Boosters: trees that correct the scores of a leaf, each the sum of those before it (Friedman, "Greedy function
//! approximation: a gradient boosting machine", 2001).
//!
//! The leaf of the model's own tree has the evidence, decides which choices may be taken at all, and gives each a first
//! score. The boosters add whole numbers of a unit:
//!
//! `score(c) = leaf.score(c) + unit * (sum of c's numbers in the rows of the boosters)`
//!
//! Scores are then [saturated] costs. With a margin, a choice other than the fallback is allowed only if it saves
//! enough for the input's *risk*. The risk is above 1 where inputs were slower than the fallback more often than on average:
//!
//! `score(fallback) - score(c) >= margin * risk`, `risk = 1 + RISK_UNIT * (sum of the last numbers of the rows)`, at least 1/8.
//!
//! The sum of whole numbers is exact, and so is its product with a power of two, so every language gets the same bits.
//!
//! [saturated]: crate::Objective::saturate

use super::old_pick::Ranked;
use crate::choice::ChoiceId;
use crate::tree::Tree;

/// What the number of a row for the risk is worth.
pub const RISK_UNIT: f64 = 1.0 / 32.0;

/// The least risk.
pub const LEAST_RISK: f64 = 0.125;

/// Margins are multiples of this. Then `margin * risk` is exact, and stays so where a compiler fuses it with the subtraction
/// that follows.
pub const MARGIN_STEP: f64 = 1.0 / (1 << 20) as f64;

/// The numbers of a row. Generated code has them as characters from `#` to `[`.
pub const ROW_NUMBERS: std::ops::RangeInclusive<i8> = -29..=27;

/// The most boosters: sums of so many numbers fit into 16 bits.
pub const MAX_BOOSTERS: usize = 255;

/// A tree whose leaves add to scores. The left child of a split is the next node.
pub type ScoreTree = Tree<ScoreRow>;

/// The leaf of a [`ScoreTree`]: a number for each choice of the model, where a lower sum is better, and one for the risk.
pub type ScoreRow = Box<[i8]>;

/// Returns the risk for this sum of the last numbers of the rows.
pub fn risk(sum: i16) -> f64 {
    (1.0 + RISK_UNIT * f64::from(sum)).max(LEAST_RISK)
}

/// Adds a row to a sum.
pub fn add_row(sums: &mut [i16], row: &[i8]) {
    sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += i16::from(*number));
}

/// What makes scores of a leaf's scores and a sum of rows. A model without boosters has empty sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scoring {
    /// The model's fallback.
    pub fallback: Option<ChoiceId>,
    /// What a number of 1 is worth.
    pub unit: f64,
    /// What a choice must save at a risk of 1; `None`: the leaf alone decides which choices are allowed.
    pub margin: Option<f64>,
}

impl Scoring {
    /// Returns the score of a choice that has this one in its leaf.
    pub fn score(&self, choice: ChoiceId, score: f64, sums: &[i16]) -> f64 {
        sums.get(choice.index()).map_or(score, |sum| self.with_sum(score, *sum))
    }

    /// Returns a first score with the sum of its numbers.
    #[inline]
    pub(super) fn with_sum(&self, score: f64, sum: i16) -> f64 {
        score + self.unit * f64::from(sum)
    }

    /// Returns the greatest score that the margin allows, by the score of the fallback; `None` without a margin.
    #[inline]
    pub(super) fn most(&self, fallback: f64, sums: &[i16]) -> Option<f64> {
        self.margin.zip(sums.last()).map(|(margin, last)| fallback - margin * risk(*last))
    }

    /// Returns the ranking of a leaf with these sums of rows, in the order of the leaf.
    pub fn ranked<'a>(
        self,
        leaf: impl Iterator<Item = Ranked> + Clone + 'a,
        sums: &'a [i16],
    ) -> impl Iterator<Item = Ranked> + 'a {
        let is_fallback = move |choice: ChoiceId| Some(choice) == self.fallback;
        // The greatest score that is allowed.
        let fallback = leaf.clone().find(|ranked| is_fallback(ranked.choice));
        let fallback =
            fallback.map_or(f64::NEG_INFINITY, |ranked| self.score(ranked.choice, ranked.score, sums));
        let most = self.most(fallback, sums).unwrap_or(f64::INFINITY);
        leaf.map(move |Ranked { choice, score, allowed }| {
            let score = self.score(choice, score, sums);
            Ranked { choice, score, allowed: allowed && (score <= most || is_fallback(choice)) }
        })
    }
}
