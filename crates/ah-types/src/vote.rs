//! How trees vote, and which choice is picked from the votes.
//!
//! This file is the only definition. Models decide by it, the calibration of a promise picks by it at many thresholds,
//! and generated code follows it:
//!
//! - Scores are added in the order of the trees; the least sum is best, of equal sums the lower id.
//! - A choice that a tree does not rank has no vote.
//! - The greatest price counts: a choice is allowed if every tree allows it.
//! - A choice that training never measured in a leaf comes after all measured ones, by [`UNMEASURED`].

use std::cmp::Ordering;

use crate::choice::ChoiceId;

/// Added to the score of a choice that training never measured in the leaf: more than any two scores can differ.
pub const UNMEASURED: f64 = 10.0;

/// Returns true for the score of a choice that training never measured in the leaf. Other scores are below 5.
pub fn is_marked(score: f64) -> bool {
    score > UNMEASURED / 2.0
}

/// Returns a score without the mark of a choice that training never measured in the leaf: what the nodes above say of it.
pub fn unmarked(score: f64) -> f64 {
    if is_marked(score) { score - UNMEASURED } else { score }
}

/// One tree's vote on a choice, or the sum of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vote {
    /// The choice.
    pub choice: ChoiceId,
    /// The ranking's order, least first.
    pub score: f64,
    /// What the choice risks for what it saves. A model allows choices up to a threshold.
    pub price: f64,
}

impl Vote {
    /// Returns a vote that changes no other vote on the choice.
    pub fn none(choice: ChoiceId) -> Self {
        Self { choice, score: 0.0, price: 0.0 }
    }

    /// Adds the next tree's vote on the same choice.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        Self { score: self.score + next.score, price: self.price.max(next.price), ..self }
    }

    /// Compares by score, then by id.
    pub fn order(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(self.choice.cmp(&other.choice))
    }

    /// Returns the choice's place where choices up to this price are allowed; an infinite threshold allows all.
    pub fn place(&self, threshold: f64) -> Place {
        Place { choice: self.choice, score: self.score, allowed: self.price <= threshold }
    }
}

/// A choice's place in a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The choice.
    pub choice: ChoiceId,
    /// The ranking's order, least first.
    pub score: f64,
    /// False if the promise does not allow it, or training never measured it here: it is skipped.
    pub allowed: bool,
}

impl Place {
    /// Returns the vote of a place: its price is 0 if the choice is allowed, else infinite.
    pub fn vote(&self) -> Vote {
        let price = if self.allowed { 0.0 } else { f64::INFINITY };
        Vote { choice: self.choice, score: self.score, price }
    }
}

/// Returns the choice to take from a ranking: the first that is offered and allowed.
///
/// `None` declines: no offered choice is allowed, or an offered choice that is not allowed ranks before the
/// fallback (so the heuristic knows nothing better than the fallback). If there is a fallback but it is not
/// offered, declining is impossible, and the first offered choice of the ranking is taken.
pub fn pick(
    ranking: impl IntoIterator<Item = Place>,
    fallback: Option<ChoiceId>,
    mut offered: impl FnMut(ChoiceId) -> bool,
) -> Option<ChoiceId> {
    let mut passed_over = None;
    for place in ranking {
        if !offered(place.choice) {
            continue;
        }
        if place.allowed && (passed_over.is_none() || Some(place.choice) != fallback) {
            return Some(place.choice);
        }
        if place.allowed {
            return None;
        }
        passed_over = passed_over.or(Some(place.choice));
    }
    if fallback.is_some_and(|fallback| !offered(fallback)) { passed_over } else { None }
}
