//! Trees with the scores and prices of their nodes, over the inputs of one table.

use std::borrow::Cow;

use ah_types::{ChoiceId, Vote};

use super::grown::GrownTree;
use super::lesson::Lesson;
use super::outside::OutsideScores;
use super::price::Prices;
use super::scores::Scores;
use crate::data::{Columns, Rows, Table, Targets};

/// Inputs that are evidence enough for a leaf of a student. With 1, a student of 45,000 leaves loses 1.0471 on the
/// forward convolutions, with 20 1.0455: the best choice of a small region is missing on some of its inputs.
const STUDENT_EVIDENCE: usize = 20;

/// One tree with the scores and prices of its nodes.
#[derive(Clone, Debug)]
pub struct FittedTree {
    /// The splits.
    pub tree: GrownTree,
    /// How nodes rank choices.
    pub scores: Scores,
    /// How leaves rank choices for inputs outside their ranges; `None`: as inside.
    pub outside: Option<OutsideScores>,
    /// The prices of choices; empty until [`FittedTrees::assess`].
    pub prices: Prices,
    /// For a student: the costs by its teacher.
    pub lesson: Option<Lesson>,
}

impl FittedTree {
    /// Returns a tree without prices.
    pub fn new(tree: GrownTree, scores: Scores) -> Self {
        Self { tree, scores, outside: None, prices: Prices::default(), lesson: None }
    }

    /// Returns a student that learned from these rows.
    pub fn taught(tree: GrownTree, rows: &Rows<'_>, targets: &Targets, lesson: Lesson) -> Self {
        let scores = lesson.scores.with_unmeasured_last(&tree.members(rows, STUDENT_EVIDENCE), targets);
        Self { lesson: Some(lesson), ..Self::new(tree, scores) }
    }

    /// Returns the inputs that are the evidence of each node, in the order of the rows: those that reach it, or those
    /// that reach the nearest node above with enough of them.
    pub fn members(&self, rows: &Rows<'_>) -> Vec<Vec<u32>> {
        self.tree.members(rows, if self.lesson.is_some() { STUDENT_EVIDENCE } else { 1 })
    }

    /// Returns the tree with only the splits where `keep` is true. It has no prices, no scores outside and no
    /// lesson.
    pub fn part(&self, keep: impl Fn(u32) -> bool) -> Self {
        let (tree, old_ids) = self.tree.part(|id, _| keep(id));
        Self::new(tree, self.scores.of_nodes(&old_ids))
    }
}

/// One tree, or several that vote.
#[derive(Clone, Debug)]
pub struct FittedTrees {
    /// At least one.
    pub trees: Vec<FittedTree>,
}

/// One measured choice of one input, as the trees rank it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredChoice {
    /// The trees' votes.
    pub vote: Vote,
    /// Its cost on the input, in units of [`COST_ONE`](crate::data::COST_ONE).
    pub cost: u32,
}

impl FittedTrees {
    /// Computes the scores outside the leaves' ranges, on the rows that the trees were learned from.
    pub fn watch(&mut self, table: &Table, rows: &Rows<'_>, targets: &Targets) {
        for tree in &mut self.trees {
            tree.outside = Some(OutsideScores::new(&tree.tree, table, rows, targets));
        }
    }

    /// Computes the prices on the rows that the trees were learned from.
    pub fn assess(&mut self, table: &Table, rows: &Rows<'_>, fallback: ChoiceId, limit: f64) {
        for tree in &mut self.trees {
            let FittedTree { tree, scores, prices, lesson, .. } = tree;
            *prices = Prices::new(tree, scores, lesson.as_ref(), table, rows, fallback, limit);
        }
    }

    /// Writes the input's measured choices into `ranking`, best first. Calibration tries 62 thresholds on the same
    /// votes; a model holds one.
    pub fn rank(
        &self,
        columns: &Columns,
        table: &Table,
        targets: &Targets,
        input: u32,
        ranking: &mut Vec<ScoredChoice>,
    ) {
        ranking.clear();
        let of = targets.of(input).iter();
        ranking.extend(of.map(|c| ScoredChoice { vote: Vote::none(c.choice), cost: c.cost }));
        for tree in &self.trees {
            let leaf = tree.tree.leaf_of(columns, input);
            let inside = tree.scores.node(leaf);
            let values = &table.inputs[input as usize].values;
            let scores = tree.outside.as_ref().map_or(Cow::from(inside), |o| o.at(leaf, values, inside));
            for ScoredChoice { vote, .. } in ranking.iter_mut() {
                let Vote { choice, .. } = *vote;
                let (score, price) = (scores[choice.index()], tree.prices.of(leaf, choice));
                *vote = vote.and(Vote { choice, score, price });
            }
        }
        ranking.sort_by(|a, b| a.vote.order(&b.vote));
    }
}
