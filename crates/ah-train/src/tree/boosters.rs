//! Boosters over the inputs of one table.

use std::iter::successors;

use ah_joint::growth::Tree;
use ah_model::{BOOSTER_LEAVES, ROW_NUMBERS, ScoreTree};
use rustc_hash::FxHashSet;

use crate::data::Columns;

/// Trees whose rows add to the scores of an ordinary tree ([`ah_model::Model::boosters`]).
#[derive(Clone, Debug, Default)]
pub struct Boosters {
    /// The length of a row: a number for each choice.
    pub row_length: usize,
    /// What a number of 1 is worth in a score.
    pub unit: f64,
    /// The trees whose rows add to the scores.
    pub trees: Vec<Booster>,
}

/// One of the trees.
#[derive(Clone, Debug)]
pub struct Booster {
    pub splits: Tree,
    /// Node after node, a row.
    pub rows: Vec<i8>,
}

impl Booster {
    /// Trees of at most [`BOOSTER_LEAVES`] leaves whose rows add up to those of this one. Each has some neighbouring leaves,
    /// and rows of zeros in the place of the others: 400 leaves become 8 trees.
    pub fn parts(self) -> Vec<Self> {
        let Self { splits, rows } = self;
        let mut leaves = Vec::new();
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            match splits.children(at) {
                Some([left, right]) => open.extend([right, left]),
                None => leaves.push(at),
            }
        }
        let parent = |&at: &usize| (at > 0).then(|| splits.nodes[at].parent as usize);
        let part = |leaves: &[usize]| {
            let kept: FxHashSet<usize> =
                leaves.iter().flat_map(|leaf| successors(Some(*leaf), parent)).collect();
            (splits.part(|at| kept.contains(&at)), kept)
        };
        let width = rows.len() / splits.nodes.len();
        let mut parts = Vec::new();
        let mut rest = &leaves[..];
        while !rest.is_empty() {
            let is_small = |count: &usize| part(&rest[..*count]).0.0.leaves() <= BOOSTER_LEAVES;
            let most = (1..=rest.len().min(BOOSTER_LEAVES)).rev().find(is_small).unwrap_or(1);
            let ((splits, old), kept) = part(&rest[..most]);
            let zeros = vec![0; width];
            let row = |at: usize| if kept.contains(&at) { &rows[at * width..][..width] } else { &zeros };
            parts.push(Self { rows: old.into_iter().flat_map(row).copied().collect(), splits });
            rest = &rest[most..];
        }
        parts
    }
}

/// The number of a row that comes nearest to a value, in this unit.
pub fn nearest(value: f64, unit: f64) -> i8 {
    let [least, most] = [ROW_NUMBERS.start(), ROW_NUMBERS.end()].map(|number| f64::from(*number));
    (value / unit).round().clamp(least, most) as i8
}

impl Boosters {
    /// The boosters of a model.
    pub fn in_model(&self, columns: &Columns) -> Vec<ScoreTree> {
        let row = |tree: &Booster, at: usize| tree.rows[at * self.row_length..][..self.row_length].into();
        self.trees.iter().map(|tree| columns.in_model(&tree.splits, |at| row(tree, at))).collect()
    }
}
