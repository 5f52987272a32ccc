//! Rankings for inputs that are outside of what training saw in their leaf.
//!
//! There the nodes above the leaf must support a pick too: its score is the worse of two, the leaf's and one
//! shrunk harder towards the parents. Over 8 to 60 held-out fifths, preset look-ahead at depth 8, always deciding,
//! this changes the loss by (in units of 1e-4, with the standard error):
//!
//! | held out | mm A100 | mm TIMM | mm HF | mixed_mm H100 | mixed_mm A100 | pad_mm A100 | flex | triton mm H200 |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | dimensions | -7 ± 6 | +1 ± 1 | 0 ± 4 | -1 ± 1 | +1 ± 1 | 0 ± 1 | -1 ± 0 | -16 ± 7 |
//! | inputs | -1 ± 1 | -4 ± 4 | +13 ± 5 | -1 ± 1 | 0 ± 0 | +1 ± 1 | 0 ± 0 | -16 ± 7 |
//! | inputs, kappa 10 | -2 ± 3 | -1 ± 6 | +22 ± 7 | +1 ± 3 | 0 ± 1 | +1 ± 1 | 0 ± 0 | -17 ± 8 |
//!
//! The mm logs were measured on trees without the splits that leave a side without measurements (see
//! [`super::scores`]); on whole trees, 16 splits, kappa 5 changes mm HF on held-out inputs by +15 ± 9.
//!
//! Tried instead: the parent's ranking, the worst score of leaf, parent and grandparent (mixed_mm +6), declining
//! (mixed_mm 1.39), kappa 4 (triton mm -1) and 30 (mixed_mm +4), boxes widened by factors of 2 and 4 (half the gain
//! on mm), the box of the nearest node with 10 inputs (mm HF +6, triton mm -5).

use std::borrow::Cow;

use ah_types::Value;

use super::grown::GrownTree;
use super::scores::Scores;
use crate::data::{Rows, Table, Targets};

/// The parents' score weighs as much as this many inputs; inside the ranges 3.
const KAPPA: f64 = 5.0;

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
    pub fn new(tree: &GrownTree, table: &Table, rows: &Rows<'_>, targets: &Targets) -> Self {
        let ranges = tree.members(rows, 1).iter().map(|members| ranges(table, members)).collect();
        Self { scores: Scores::new(tree, rows, targets, KAPPA), ranges }
    }

    /// Returns the scores of a leaf outside its ranges, by choice; `inside` are its own.
    pub fn leaf(&self, leaf: u32, inside: &[f64]) -> Vec<f64> {
        self.scores.node(leaf).iter().zip(inside).map(|(outside, inside)| outside.max(*inside)).collect()
    }

    /// Returns the scores that hold for these values of the logged features in a leaf.
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
