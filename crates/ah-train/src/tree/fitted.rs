//! An ensemble as it is learned: a tree with the scores and risks of its nodes, and its boosters, over the inputs of one table.

use std::borrow::Cow;

use ah_types::{ChoiceId, Ranked};

use super::boosters::Boosters;
use super::grown::GrownTree;
use super::risk::{Risks, risk_ratio};
use super::scores::{self, Scores};
use crate::data::{Columns, Costs, Subset, Table};

/// Inputs that are evidence enough for a leaf beside boosters: a choice that none of them measured is not taken. By its
/// own 10 inputs or more, backward convolutions lose 1.0172 instead of 1.0156 (mean of two seeds).
const EVIDENCE: usize = 100;

/// A tree with the scores and risks of its nodes, and the boosters that add to its scores.
#[derive(Clone, Debug)]
pub struct FittedEnsemble {
    /// The splits of the tree.
    pub tree: GrownTree,
    /// How its nodes rank choices.
    pub scores: Scores,
    /// What choices risk; `None` until [`assess`](Self::assess).
    pub risks: Option<Risks>,
    /// Trees that add to its scores.
    pub boosters: Boosters,
}

/// One measured choice of one input, as an ensemble ranks it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredChoice {
    /// The choice.
    pub choice: ChoiceId,
    /// The least is best.
    pub score: f64,
    /// What it risks for what it saves. A model allows choices up to a threshold.
    pub ratio: f64,
    /// Its cost on the input, in units of [`COST_ONE`](crate::data::COST_ONE).
    pub cost: u32,
}

impl ScoredChoice {
    /// Returns the choice as a model ranks it that allows choices up to this ratio; an infinite threshold allows all.
    pub fn ranked(&self, threshold: f64) -> Ranked {
        Ranked { choice: self.choice.0, score: self.score, allowed: self.ratio <= threshold }
    }
}

impl FittedEnsemble {
    /// Returns a tree without boosters; its risks are unknown.
    pub fn new(tree: GrownTree, scores: Scores) -> Self {
        Self { tree, scores, risks: None, boosters: Boosters::default() }
    }

    /// Returns true if boosters add to the scores.
    pub fn is_boosted(&self) -> bool {
        !self.boosters.trees.is_empty()
    }

    /// Returns the cost of the choice that the ensemble picks for an input, always deciding.
    pub fn cost(&self, columns: &Columns, targets: &Costs, input: u32) -> u32 {
        let scores = self.scores.node(self.tree.leaf_of(columns, input));
        scores::cost(&self.boosted(scores, columns, input).0, targets, input)
    }

    /// Returns the scores of a leaf with those that the boosters add, and the sum of their rows.
    fn boosted<'a>(&self, scores: &'a [f64], columns: &Columns, input: u32) -> (Cow<'a, [f64]>, Vec<i16>) {
        let mut scores = Cow::from(scores);
        if !self.is_boosted() {
            return (scores, Vec::new());
        }
        let sums = self.boosters.sums(&columns.by_row(&[input]));
        let added = sums.iter().map(|sum| self.boosters.unit * f64::from(*sum));
        scores.to_mut().iter_mut().zip(added).for_each(|(score, added)| *score += added);
        (scores, sums)
    }

    /// Returns the inputs that are the evidence of each node, in the order of the rows: those that reach it, or beside
    /// boosters those that reach the nearest node above with enough of them.
    pub fn members(&self, rows: &Subset<'_>) -> Vec<Vec<u32>> {
        self.tree.members(rows, if self.is_boosted() { EVIDENCE } else { 1 })
    }

    /// Returns the tree with only the splits where `keep` is true, without risks and boosters.
    pub fn part(&self, keep: impl Fn(u32) -> bool) -> Self {
        let (tree, old_ids) = self.tree.part(|id, _| keep(id));
        Self::new(tree, self.scores.of_nodes(&old_ids))
    }

    /// Computes the risks on the rows that the ensemble was learned from.
    pub fn assess(&mut self, table: &Table, rows: &Subset<'_>, fallback: ChoiceId, limit: f64) {
        self.risks = Some(match self.is_boosted() {
            true => Risks::of_rows(fallback),
            false => Risks::of_leaves(&self.tree, table, rows, fallback, limit),
        });
    }

    /// Returns the risk ratio of a choice in a leaf with these scores. `sums` are those of the boosters' rows.
    pub fn ratio(&self, leaf: u32, scores: &[f64], sums: &[i16], choice: ChoiceId) -> f64 {
        match &self.risks {
            Some(risks) if choice != risks.fallback => {
                let saved = scores[risks.fallback.index()] - scores[choice.index()];
                risk_ratio(risks.of(leaf, choice, sums), saved)
            }
            _ => 0.0,
        }
    }

    /// Writes the choices that the input measured and its leaf ranks into `ranking`, best first. Calibration tries many
    /// thresholds on the same ratios; a model holds one.
    pub fn rank(&self, columns: &Columns, targets: &Costs, input: u32, ranking: &mut Vec<ScoredChoice>) {
        let leaf = self.tree.leaf_of(columns, input);
        let (scores, sums) = self.boosted(self.scores.node(leaf), columns, input);
        let ranked = targets.of(input).iter().filter(|cost| scores[cost.choice.index()].is_finite());
        ranking.clear();
        ranking.extend(ranked.map(|cost| ScoredChoice {
            choice: cost.choice,
            score: scores[cost.choice.index()],
            ratio: self.ratio(leaf, &scores, &sums, cost.choice),
            cost: cost.cost,
        }));
        ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
    }
}
