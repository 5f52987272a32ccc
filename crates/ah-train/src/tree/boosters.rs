//! Boosters over the inputs of one table.

use ah_joint::growth::Tree;
use ah_types::{Node, ROW_NUMBERS, ScoreTree};

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
        self.trees.iter().map(|tree| self.tree_in_model(tree, columns)).collect()
    }

    fn tree_in_model(&self, tree: &Booster, columns: &Columns) -> ScoreTree {
        let mut nodes = Vec::new();
        // A node, and the split whose right child it is: in a model, a left child is the next node.
        let mut open = vec![(0, None)];
        while let Some((at, right_of)) = open.pop() {
            let here = nodes.len() as u32;
            if let Some(Node::Split { right, .. }) =
                right_of.and_then(|split: u32| nodes.get_mut(split as usize))
            {
                *right = here;
            }
            let split = tree.splits.nodes[at];
            if split.left == 0 {
                nodes.push(Node::Leaf(tree.rows[at * self.row_length..][..self.row_length].into()));
            } else {
                let test = columns.all()[split.column as usize].test_behind(split.limit);
                nodes.push(Node::Split { test, left: here + 1, right: 0 });
                open.push((split.left as usize + 1, Some(here)));
                open.push((split.left as usize, None));
            }
        }
        ScoreTree { nodes }
    }
}
