//! Boosters: trees that correct the scores of a leaf, each the sum of those before it (Friedman, "Greedy function
//! approximation: a gradient boosting machine", 2001).
//!
//! The leaf of the model's own tree has the evidence, decides which choices may be taken at all, and gives each a first
//! score. The boosters add whole numbers of a unit:
//!
//! `score(c) = leaf.score(c) + unit * (sum of c's numbers in the rows of the boosters)`
//!
//! Scores are then [saturated] costs. With a margin, a choice other than the fallback is allowed only if it saves enough:
//!
//! `score(fallback) - score(c) >= margin`
//!
//! The sum of whole numbers is exact, and so is its product with a power of two, so every language gets the same bits.
//! [`ah_decide::Rule`] is the definition.
//!
//! [saturated]: crate::Objective::saturate

use crate::tree::Tree;

/// The numbers of a row: four of them fit into 8 bits.
pub const ROW_NUMBERS: std::ops::RangeInclusive<i8> = -29..=27;

/// The most boosters: sums of 1,024 numbers of a row fit into 16 bits.
pub(super) const MAX_BOOSTERS: usize = 1024;

/// A tree whose leaves add to scores.
pub type ScoreTree = Tree<ScoreRow>;

/// The leaf of a [`ScoreTree`]: a number for each choice of the model. A lower sum is better.
pub type ScoreRow = Box<[i8]>;
