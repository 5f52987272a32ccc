//! Boosters over the inputs of one table.

use ah_joint::growth::Tree;
use ah_types::{ROW_NUMBERS, ScoreTree};

use crate::data::Columns;

/// Trees whose rows add to the scores of an ordinary tree ([`ah_types::Model::boosters`]).
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

/// Returns the number of a row that comes nearest to a value, in this unit.
pub fn nearest(value: f64, unit: f64) -> i8 {
    let [least, most] = [ROW_NUMBERS.start(), ROW_NUMBERS.end()].map(|number| f64::from(*number));
    (value / unit).round().clamp(least, most) as i8
}

impl Boosters {
    /// Returns the boosters of a model.
    pub fn in_model(&self, columns: &Columns) -> Vec<ScoreTree> {
        let row = |tree: &Booster, at: usize| tree.rows[at * self.row_length..][..self.row_length].into();
        self.trees.iter().map(|tree| columns.in_model(&tree.splits, |at| row(tree, at))).collect()
    }
}
