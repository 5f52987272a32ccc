//! Rankings for inputs that are outside of what training saw in their leaf.
//!
//! There a pick must convince the nodes above the leaf too: its score is the worse of two, the leaf's and one
//! shrunk three times harder towards the parents. Over 40 held-out fifths by dimensions, preset look-ahead at depth 8,
//! this changes the loss of mm A100 by -0.0005, pad_mm A100 +0.0001, mixed_mm H100 -0.0001, mixed_mm A100
//! +0.0001, flex attention -0.0001; on held-out inputs by at most 0.0002 anywhere. Tried instead: the parent's
//! ranking, the worst score of leaf, parent and grandparent (mm -0.0005, mixed_mm +0.0006), declining
//! (mixed_mm 1.39), kappa 30 (mixed_mm +0.0004), boxes widened by factors of 2 and 4 (half the gain).

use std::borrow::Cow;

use ah_types::Value;

use super::grown::GrownTree;
use super::scores::Scores;
use crate::data::{Rows, Table, Targets};

/// The parents' score weighs as much as this many inputs.
const KAPPA: f64 = 10.0;

/// The least and greatest value of each logged feature; `None` for categories.
pub type Ranges = Vec<Option<(f64, f64)>>;

/// Scores for inputs outside the ranges of their leaf.
#[derive(Clone, Debug)]
pub struct OutsideScores {
    scores: Scores,
    /// By node.
    ranges: Vec<Ranges>,
}

impl OutsideScores {
    /// Returns the scores and ranges of every node from the rows that reach it.
    #[must_use]
    pub fn new(tree: &GrownTree, table: &Table, rows: &Rows<'_>, targets: &Targets) -> Self {
        let ranges = tree.members(rows).iter().map(|members| ranges(table, members)).collect();
        Self { scores: Scores::new(tree, rows, targets, KAPPA), ranges }
    }

    /// Returns the scores of a leaf outside its ranges, by choice; `inside` are its own.
    #[must_use]
    pub fn leaf(&self, leaf: u32, inside: &[f64]) -> Vec<f64> {
        self.scores.node(leaf).iter().zip(inside).map(|(outside, inside)| outside.max(*inside)).collect()
    }

    /// Returns the scores that hold for these values of the logged features in a leaf.
    #[must_use]
    pub fn at<'a>(&self, leaf: u32, values: &[Value], inside: &'a [f64]) -> Cow<'a, [f64]> {
        let is_outside = |(range, value): (&Option<(f64, f64)>, &Value)| {
            range.is_some_and(|(least, greatest)| {
                !(least..=greatest).contains(&value.as_scalar().number().unwrap_or(f64::NAN))
            })
        };
        let outside = self.ranges[leaf as usize].iter().zip(values).any(is_outside);
        if outside { self.leaf(leaf, inside).into() } else { inside.into() }
    }
}

/// Returns the least and greatest value of each logged feature on these inputs.
#[must_use]
pub fn ranges(table: &Table, members: &[u32]) -> Ranges {
    let Some(&first) = members.first() else { return Vec::new() };
    let value = |input: u32, slot: usize| table.inputs[input as usize].values[slot].as_scalar().number();
    let range = |slot: usize| {
        let values = members.iter().filter_map(|&input| value(input, slot)).filter(|x| x.is_finite());
        values.fold(None, |range, x| {
            let (least, greatest) = range.unwrap_or((x, x));
            Some((x.min(least), x.max(greatest)))
        })
    };
    (0..table.inputs[first as usize].values.len()).map(range).collect()
}
