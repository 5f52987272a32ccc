//! Trees with the scores and prices of their nodes, over the inputs of one table.

use std::borrow::Cow;

use ah_types::{ChoiceId, Vote};

use super::boosted::Boosted;
use super::grown::GrownTree;
use super::outside::OutsideScores;
use super::price::Prices;
use super::scores::{self, Scores};
use crate::data::{Columns, Rows, Table, Targets};

/// Inputs that are evidence enough for a leaf beside boosted trees: a choice that none of them measured is not taken. By its
/// own 10 inputs or more, backward convolutions lose 1.0172 instead of 1.0156 (mean of two seeds).
const EVIDENCE: usize = 100;

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
    /// Trees that add to its scores.
    pub boosted: Option<Boosted>,
}

impl FittedTree {
    /// Returns a tree without prices.
    pub fn new(tree: GrownTree, scores: Scores) -> Self {
        Self { tree, scores, outside: None, prices: Prices::default(), boosted: None }
    }

    /// Returns the cost of the choice that the tree picks for an input: of the measured choices the one with the least
    /// score, of equals the first.
    pub fn cost(&self, columns: &Columns, targets: &Targets, input: u32) -> u32 {
        let scores = self.scores.node(self.tree.leaf_of(columns, input));
        scores::cost(&self.with_boosted(scores.into(), columns, input).0, targets, input)
    }

    /// Returns the scores of the input's leaf with those of the boosted trees, and their caution.
    fn with_boosted<'a>(
        &self,
        mut scores: Cow<'a, [f64]>,
        columns: &Columns,
        input: u32,
    ) -> (Cow<'a, [f64]>, f64) {
        let Some(boosted) = &self.boosted else { return (scores, 1.0) };
        let added = boosted.added(&columns.by_row(&[input]));
        scores.to_mut().iter_mut().zip(added.scores).for_each(|(score, added)| *score += added);
        (scores, added.caution)
    }

    /// Returns the inputs that are the evidence of each node, in the order of the rows: those that reach it, or beside boosted
    /// trees those that reach the nearest node above with enough of them.
    pub fn members(&self, rows: &Rows<'_>) -> Vec<Vec<u32>> {
        self.tree.members(rows, if self.boosted.is_some() { EVIDENCE } else { 1 })
    }

    /// Returns the tree with only the splits where `keep` is true. It has no prices, no scores outside and no
    /// boosted trees.
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
    /// Returns true if several trees vote, so that each needs a score for each choice.
    pub fn votes(&self) -> bool {
        self.trees.len() > 1 || self.trees.iter().any(|tree| tree.boosted.is_some())
    }

    /// Computes the scores outside the leaves' ranges, on the rows that the trees were learned from.
    pub fn watch(&mut self, table: &Table, rows: &Rows<'_>, targets: &Targets) {
        for tree in &mut self.trees {
            tree.outside = Some(OutsideScores::new(&tree.tree, table, rows, targets));
        }
    }

    /// Computes the prices on the rows that the trees were learned from.
    pub fn assess(&mut self, table: &Table, rows: &Rows<'_>, fallback: ChoiceId, limit: f64) {
        for tree in &mut self.trees {
            match &mut tree.boosted {
                Some(boosted) => boosted.fallback = Some(fallback),
                None => tree.prices = Prices::new(&tree.tree, &tree.scores, table, rows, fallback, limit),
            }
        }
    }

    /// Writes the input's measured choices into `ranking`, best first. Calibration tries many thresholds on the same
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
            let (scores, caution) = tree.with_boosted(scores, columns, input);
            let fallback = tree.boosted.as_ref().and_then(|boosted| boosted.fallback);
            for ScoredChoice { vote, .. } in ranking.iter_mut() {
                let Vote { choice, .. } = *vote;
                let score = scores[choice.index()];
                let price = match fallback {
                    Some(fallback) if choice == fallback => 0.0,
                    Some(fallback) => Boosted::price(scores[fallback.index()] - score, caution),
                    None => tree.prices.of(leaf, choice),
                };
                *vote = vote.and(Vote { choice, score, price });
            }
        }
        ranking.sort_by(|a, b| a.vote.order(&b.vote));
    }
}
