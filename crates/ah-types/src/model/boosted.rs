//! Boosted trees: many trees, each of which corrects the sum of those before it (Friedman, "Greedy function
//! approximation: a gradient boosting machine", 2001).
//!
//! A model of boosted trees has one ordinary tree too, which people can read. Its leaf has the evidence, says which
//! choices may be taken at all, and gives each a first score. The boosted trees add whole numbers of a unit:
//!
//! `score[c] = leaf.score[c] + unit * (scores of c in the leaves of the boosted trees)`
//!
//! Scores are [softened] log slowdowns. A choice is allowed if it saves at least `margin` against the fallback. Where inputs like
//! this one were slower than the fallback more often than others, it must save more: a row of scores can end with a *caution*,
//! and a choice must save `margin * caution`, where
//!
//! `caution = 1 + caution_unit * (the cautions in the leaves of the boosted trees)`, at least 1/8.
//!
//! The sum of the whole numbers is exact, and so is its product with a power of two, so every language gets the same bits.

use crate::row::Row;
use crate::unsure::Unsure;

/// The greatest softened log slowdown.
const MOST: f64 = 0.2;

/// The most trees: sums of so many scores fit into 16 bits.
pub const MAX_BOOSTED_TREES: usize = 255;

/// The least caution.
pub const LEAST_CAUTION: f64 = 0.125;

/// Beside cautions, margins are multiples of this. Then `margin * caution` is exact, and stays so where a compiler fuses it with
/// the subtraction that follows.
pub const MARGIN_STEP: f64 = 1.0 / (1 << 20) as f64;

/// The scores of boosted trees. Generated code has them as characters from `#` to `[`.
pub const BOOSTED_SCORES: std::ops::RangeInclusive<i8> = -29..=27;

/// Returns a log slowdown in the unit of boosted scores: small ones are themselves, and none is above 0.2. So choices that
/// are far from the best need not be told apart.
pub fn softened(log_slowdown: f64) -> f64 {
    MOST * (1.0 - (-log_slowdown / MOST).exp())
}

/// Returns the log slowdown of a softened one.
pub fn hardened(softened: f64) -> f64 {
    -MOST * (1.0 - softened / MOST).max(f64::MIN_POSITIVE).ln()
}

/// Trees whose scores are added up.
#[derive(Clone, Debug, PartialEq)]
pub struct BoostedTrees {
    /// The values that splits compare. All of them must be defined and known.
    pub columns: Vec<BoostedColumn>,
    /// The nodes of each tree, in preorder: a split's left child is the next node.
    pub trees: Vec<Vec<BoostedNode>>,
    /// The scores of the leaves, row by row: one for each choice of the model, where a lower sum is better, and with a
    /// `caution_unit` the caution.
    pub scores: Vec<i8>,
    /// What a score of 1 is worth: a power of two.
    pub unit: f64,
    /// A choice is allowed if its score is lower than the fallback's by at least this much. `None` always decides.
    pub margin: Option<f64>,
    /// What a caution of 1 in a row is worth: a power of two. `None`: rows have none, and it is 1 everywhere.
    pub caution_unit: Option<f64>,
}

/// What boosted trees say about one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// By choice, what is added to its score.
    pub scores: Vec<f64>,
    /// How many times the margin a choice must save.
    pub caution: f64,
}

impl Added {
    /// Returns what a model without boosted trees adds, for this number of choices.
    pub fn nothing(choices: usize) -> Self {
        Self { scores: vec![0.0; choices], caution: 1.0 }
    }
}

/// A value that splits compare.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoostedColumn {
    /// The feature's slot.
    pub slot: usize,
    /// For a categorical feature, the category for which the value is 1; it is 0 for any other known one.
    pub category: Option<String>,
}

/// A node of a boosted tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BoostedNode {
    /// A value of at most the threshold goes to the next node, any other to `right`.
    Split {
        /// The position in [`BoostedTrees::columns`].
        column: u16,
        /// The threshold, finite.
        threshold: f64,
        /// The position of the right child in the tree.
        right: u32,
    },
    /// The end of a path: the number of a row of [`BoostedTrees::scores`].
    Leaf(u32),
}

impl BoostedTrees {
    /// Returns the length of a row of scores, for this number of choices.
    pub fn row_length(&self, choices: usize) -> usize {
        choices + usize::from(self.caution_unit.is_some())
    }

    /// Returns what the trees say about a row, for this number of choices. `known(slot, category)` returns whether the category
    /// is in the training data.
    ///
    /// # Errors
    /// The first column that is undefined, or a category that training never saw.
    pub fn added(
        &self,
        choices: usize,
        row: &(impl Row + ?Sized),
        known: impl Fn(usize, &str) -> bool,
    ) -> Result<Added, Unsure> {
        let values = self.columns.iter().map(|column| column.value(row, &known));
        let values: Vec<f64> = values.collect::<Result<_, _>>()?;
        let mut sums = vec![0_i32; self.row_length(choices)];
        for tree in &self.trees {
            let scores = &self.scores[leaf(tree, &values) * sums.len()..][..sums.len()];
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += i32::from(*score));
        }
        let caution = self.caution_unit.map_or(1.0, |unit| 1.0 + unit * f64::from(sums[choices]));
        let scores = sums[..choices].iter().map(|sum| self.unit * f64::from(*sum)).collect();
        Ok(Added { scores, caution: caution.max(LEAST_CAUTION) })
    }
}

impl BoostedColumn {
    /// Returns the value of this column.
    fn value(&self, row: &(impl Row + ?Sized), known: &impl Fn(usize, &str) -> bool) -> Result<f64, Unsure> {
        let slot = self.slot;
        match &self.category {
            None => Some(row.number(slot)).filter(|x| !x.is_nan()).ok_or(Unsure::Undefined(slot)),
            Some(category) => match row.category(slot) {
                None => Err(Unsure::Undefined(slot)),
                Some(value) if value == category => Ok(1.0),
                Some(value) if known(slot, value) => Ok(0.0),
                Some(_) => Err(Unsure::UnknownCategory(slot)),
            },
        }
    }
}

/// Returns the row of scores that these values reach.
fn leaf(tree: &[BoostedNode], values: &[f64]) -> usize {
    let mut at = 0;
    loop {
        match tree[at] {
            BoostedNode::Leaf(row) => return row as usize,
            BoostedNode::Split { column, threshold, right } => {
                at = if values[usize::from(column)] <= threshold { at + 1 } else { right as usize };
            }
        }
    }
}
