//! A heuristic as it is during training: one tree or a few that vote, each with its scores and
//! risks, over the inputs of one table. [`crate::tree::leaves`] makes a model of it.

use ah_types::ChoiceId;

use super::grown::GrownTree;
use super::price::Prices;
use super::scores::Scores;
use crate::data::Columns;
use crate::data::Rows;
use crate::data::Table;
use crate::data::Targets;

/// One tree with what its nodes know.
#[derive(Clone, Debug)]
pub struct FittedTree {
    /// The splits.
    pub tree: GrownTree,
    /// How nodes rank choices.
    pub scores: Scores,
    /// What each leaf's choices risk for what they save; empty until [`FittedTrees::assess`].
    pub prices: Prices,
}

/// One or several trees.
#[derive(Clone, Debug)]
pub struct FittedTrees {
    /// At least one.
    pub trees: Vec<FittedTree>,
}

/// What a heuristic says of one measured choice of one input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedChoice {
    /// The choice.
    pub choice: ChoiceId,
    /// Summed over the trees, in their order; least is best.
    pub score: f64,
    /// The greatest of the trees' prices: a choice must be allowed in every tree.
    pub price: f64,
    /// Its cost on the input, in units of [`crate::data::COST_ONE`].
    pub cost: u32,
}

impl FittedTrees {
    /// Without prices yet.
    #[must_use]
    pub fn new(trees: Vec<(GrownTree, Scores)>) -> Self {
        let tree = |(tree, scores)| FittedTree { tree, scores, prices: Prices::default() };
        Self { trees: trees.into_iter().map(tree).collect() }
    }

    /// Assesses the prices of every leaf's choices on the rows that the trees were learned from.
    pub fn assess(&mut self, table: &Table, rows: &Rows<'_>, fallback: ChoiceId, limit: f64) {
        for tree in &mut self.trees {
            tree.prices = Prices::new(&tree.tree, &tree.scores, table, rows, fallback, limit);
        }
    }

    /// Writes the input's measured choices into `ranking`, best first; equals by choice.
    pub fn rank(&self, columns: &Columns, targets: &Targets, input: u32, ranking: &mut Vec<RankedChoice>) {
        ranking.clear();
        let of = targets.of(input).iter();
        ranking.extend(of.map(|c| RankedChoice { choice: c.choice, score: 0.0, price: 0.0, cost: c.cost }));
        for tree in &self.trees {
            let leaf = tree.tree.leaf_of(columns, input);
            let scores = tree.scores.node(leaf);
            for ranked in ranking.iter_mut() {
                ranked.score += scores[ranked.choice.index()];
                ranked.price = ranked.price.max(tree.prices.of(leaf, ranked.choice));
            }
        }
        ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
    }

    /// The cost of the choice that is best in the ranking, in units of [`crate::data::COST_ONE`].
    #[must_use]
    pub fn cost(
        &self,
        columns: &Columns,
        targets: &Targets,
        input: u32,
        buffer: &mut Vec<RankedChoice>,
    ) -> u32 {
        if let [only] = &self.trees[..] {
            return only.scores.cost(only.tree.leaf_of(columns, input), targets, input);
        }
        self.rank(columns, targets, input, buffer);
        buffer.first().map_or(0, |r| r.cost)
    }
}
