//! An ensemble as it is learned: a tree with the scores of its nodes, and its boosters, over the inputs of one table.

use std::sync::Arc;

use ah_joint::growth::Tree;
use ah_model::Costs as CostFormula;

use super::boosters::Boosters;
use super::scores::Scores;
use crate::data::FitRows;

/// Inputs that are evidence enough for a leaf beside boosters: a choice that none of them measured is not taken. By its
/// own 10 inputs or more, backward convolutions lose 1.0172 instead of 1.0156 (mean of two seeds).
const EVIDENCE: usize = 100;

/// A tree with the scores of its nodes, and the boosters that add to its scores.
#[derive(Clone, Debug)]
pub struct FittedEnsemble {
    /// The splits of the tree.
    pub tree: Tree,
    /// How its nodes rank choices.
    pub scores: Scores,
    /// Trees that add to its scores.
    pub boosters: Boosters,
    /// The formula of the choices' costs under both.
    pub formula: Option<Arc<CostFormula>>,
}

impl FittedEnsemble {
    /// A tree without boosters.
    pub fn new(tree: Tree, scores: Scores) -> Self {
        Self { tree, scores, boosters: Boosters::default(), formula: None }
    }

    /// Whether boosters add to the scores.
    pub fn is_boosted(&self) -> bool {
        !self.boosters.trees.is_empty()
    }

    /// Whether boosters or a formula change the order of a leaf.
    pub fn reorders(&self) -> bool {
        self.is_boosted() || self.formula.is_some()
    }

    /// The inputs that are the evidence of each node, in the order of the rows: those that reach it, or beside
    /// boosters or on a formula those that reach the nearest node above with enough of them.
    pub fn members(&self, rows: &FitRows<'_>) -> Vec<Vec<u32>> {
        members(&self.tree, rows, if self.reorders() { EVIDENCE } else { 1 })
    }

    /// The tree with only the splits where `keep` is true, without boosters.
    pub fn part(&self, keep: impl Fn(usize) -> bool) -> Self {
        let (tree, old) = self.tree.part(keep);
        Self::new(tree, self.scores.of_nodes(&old))
    }
}

/// The inputs that reach each node, in the order of the rows. A node that fewer than `least` reach has those of the nearest
/// node above with at least `least`.
pub fn members(tree: &Tree, rows: &FitRows<'_>, least: usize) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); tree.nodes.len()];
    let mut inherited = vec![false; tree.nodes.len()];
    members[0] = rows.inputs.to_vec();
    for (at, node) in tree.nodes.iter().enumerate() {
        let Some(children) = tree.children(at) else { continue };
        let codes = &rows.columns.all[node.column as usize].codes;
        let goes_left = |input: &u32| codes[*input as usize] <= node.limit;
        let (on_left, on_right): (Vec<u32>, Vec<u32>) = match inherited[at] {
            true => Default::default(),
            false => members[at].iter().partition(|input| goes_left(input)),
        };
        for (child, own) in children.into_iter().zip([on_left, on_right]) {
            inherited[child] = own.len() < least;
            members[child] = if inherited[child] { members[at].clone() } else { own };
        }
    }
    members
}
