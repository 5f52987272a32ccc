//! Decision trees: the split rule, the descent, and the leaves.
//!
//! This file defines the split rule, and [`Model::column_value`](crate::Model::column_value) the compared values. Fitting,
//! evaluation and all generated code follow them:
//!
//! - numerical: `value <= threshold` goes left, everything else right. Thresholds are finite.
//! - categorical: a value in the set of the test goes right, another *known* category left (PyTorch's one-hot
//!   order, where the set is one category).
//! - An undefined value (NaN, a derived feature without value) or a category that is not in the training
//!   data ends the descent: the answer is *unsure*.
//! - A number that training saw missing ([`Model::missing`](crate::Model::missing)) goes left where it is undefined. A
//!   split at [`MISSING`] separates missing values from all others. The missing value of a categorical feature is
//!   the category `""`.

use std::sync::Arc;

use ah_decide::Ranked;

use crate::choice::ChoiceId;
use crate::unsure::Unsure;

/// A node of a [`Tree`].
#[derive(Clone, Debug, PartialEq)]
pub enum Node<L = Leaf> {
    /// A test with two outcomes. Its left child, for `value <= threshold`, is the next node.
    Split {
        /// The test.
        test: Test,
        /// The child for `value > threshold`.
        right: u32,
    },
    /// The end of a path.
    Leaf(L),
}

/// The test of a split: `value <= threshold`.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The value.
    pub column: Column,
    /// The threshold, finite; 0 for a set of categories.
    pub threshold: f64,
}

impl Test {
    /// The test of a number in this slot.
    pub fn number(slot: usize, threshold: f64) -> Self {
        Self { column: Column { slot, categories: None }, threshold }
    }

    /// The test that sends these categories, which are sorted, to the right.
    pub fn is_in(slot: usize, categories: impl Into<Arc<[String]>>) -> Self {
        Self { column: Column { slot, categories: Some(categories.into()) }, threshold: 0.0 }
    }
}

/// A value that tests compare with thresholds: a number, or 1 for the categories of a set and 0 for the other known ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// The feature's slot; derived features come after the logged ones.
    pub slot: usize,
    /// For a categorical feature, the categories for which the value is 1, sorted.
    pub categories: Option<Arc<[String]>>,
}

/// Whether this category is in a sorted set.
pub fn contains(categories: &[String], category: &str) -> bool {
    categories.binary_search_by(|other| other.as_str().cmp(category)).is_ok()
}

/// The threshold that only missing numbers are not above: the least one.
pub const MISSING: f64 = f64::MIN;

/// The split rule for numbers: true goes left. NaN has no side; callers check it before.
#[inline]
pub fn goes_left(value: f64, threshold: f64) -> bool {
    value <= threshold
}

/// The end of a path: the evidence from the training inputs that end here, and the choices.
///
/// A choice that training never measured in this leaf is not in its ranking, so it is never taken here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leaf {
    /// Training inputs that are the evidence: those that ended here. A small leaf beside boosted trees has those of the nearest
    /// node above with enough of them.
    pub samples: u64,
    /// Choices, best first.
    pub ranking: Vec<RankedChoice>,
}

/// A choice in a leaf's ranking, with its evidence from the leaf's training inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankedChoice {
    /// The choice.
    pub choice: ChoiceId,
    /// The ranking's order, least first: the mean log slowdown, shrunk towards the mean of the nodes above.
    /// With a promise, inputs on which the choice is too slow cost more.
    pub score: f64,
    /// The share of the leaf's inputs on which its median is the least; equal medians share the input.
    pub probability: f64,
    /// The number of the leaf's inputs on which it was measured; at least 1.
    pub measured: u64,
    /// True if it was measured on nearly all (99 %) of the leaf's inputs on which it can run. A program
    /// that does not list its choices is expected to offer it.
    pub expected: bool,
    /// The geometric mean of its slowdown there; infinite if it always failed.
    pub slowdown: f64,
    /// Its worst slowdown there; infinite if it failed.
    pub worst: f64,
    /// Its worst time divided by the fallback's there (below 1 is faster); infinite if unknown.
    pub worst_over_fallback: f64,
    /// False if the promise does not allow it: it is skipped.
    pub allowed: bool,
}

impl RankedChoice {
    /// The choice without its evidence. The fallback is always allowed and expected.
    pub fn ranked(&self, fallback: Option<ChoiceId>) -> Ranked {
        let is_fallback = Some(self.choice) == fallback;
        let allowed = self.allowed || is_fallback;
        let expected = self.expected || is_fallback;
        Ranked { choice: self.choice.0, score: self.score, allowed, expected }
    }
}

impl Leaf {
    /// A choice with its evidence, if the leaf ranks it.
    pub fn ranked(&self, choice: ChoiceId) -> Option<&RankedChoice> {
        self.ranking.iter().find(|r| r.choice == choice)
    }

    /// At most how many of the leaf's training inputs could run none of the choices for which `lacks` is true: a choice that was
    /// measured on an input could run there.
    pub fn inputs_without(&self, lacks: impl Fn(ChoiceId) -> bool) -> u64 {
        let lacking = self.ranking.iter().filter(|ranked| lacks(ranked.choice));
        lacking.map(|ranked| self.samples.saturating_sub(ranked.measured)).min().unwrap_or(self.samples)
    }

    /// The choice for a program that does not list its choices: it is expected to offer the fallback and the expected
    /// choices, as far as they are `eligible`. It is asked only about a choice that may change the answer.
    pub fn choose(
        &self,
        fallback: Option<ChoiceId>,
        mut eligible: impl FnMut(ChoiceId) -> bool,
    ) -> Option<&RankedChoice> {
        let ranking = self.ranking.iter().map(|ranked| ranked.ranked(fallback));
        let expected = ranking.filter(|ranked| ranked.expected);
        let picked = ah_decide::pick(expected, fallback.map(|id| id.0), |choice| eligible(ChoiceId(choice)));
        self.ranked(ChoiceId(picked?))
    }
}

/// A binary tree in one `Vec`: the root comes first, and children come after their parent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree<L = Leaf> {
    /// The nodes.
    pub nodes: Vec<Node<L>>,
}

/// The leaf at the end of a path, its position, and the tests before it, each with true where the path goes left.
type Path<'t, L> = (&'t L, usize, Vec<(&'t Test, bool)>);

impl<L> Tree<L> {
    /// The path of an input by the value of each column.
    ///
    /// # Errors
    /// The first error of `value`.
    pub fn path(&self, value: impl Fn(&Column) -> Result<f64, Unsure>) -> Result<Path<'_, L>, Unsure> {
        let mut at = 0;
        let mut tests = Vec::new();
        loop {
            match &self.nodes[at] {
                Node::Leaf(leaf) => return Ok((leaf, at, tests)),
                Node::Split { test, right } => {
                    let is_left = goes_left(value(&test.column)?, test.threshold);
                    tests.push((test, is_left));
                    at = if is_left { at + 1 } else { *right as usize };
                }
            }
        }
    }

    /// All leaves with their positions.
    pub fn leaves(&self) -> impl Iterator<Item = (usize, &L)> {
        self.nodes.iter().enumerate().filter_map(|(i, n)| match n {
            Node::Leaf(leaf) => Some((i, leaf)),
            Node::Split { .. } => None,
        })
    }

    /// The tests of all splits.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Leaf(_) => None,
            Node::Split { test, .. } => Some(test),
        })
    }
}
