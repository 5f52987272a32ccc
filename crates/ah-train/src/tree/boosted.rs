//! Boosted trees over the inputs of one table.

use ah_types::{BoostedColumn, BoostedNode, BoostedTrees, ChoiceId, Test};

use super::lookup::Lookup;
use crate::data::Columns;

/// Trees whose scores add to those of an ordinary tree ([`BoostedTrees`]).
#[derive(Clone, Debug)]
pub struct Boosted {
    /// The number of scores of a leaf.
    pub choices: usize,
    /// What a score of 1 is worth.
    pub unit: f64,
    /// Trees, each with its scores: node after node, one for each choice.
    pub trees: Vec<(Lookup, Vec<i8>)>,
    /// The fallback, from which prices are computed; `None` without a promise.
    pub fallback: Option<ChoiceId>,
}

/// The price of a choice that saves 1, in the unit of the scores. With it, the thresholds that calibration tries reach from
/// far above the greatest saving to far below the least that matters.
const PRICE: f64 = 0.03;

impl Boosted {
    /// Returns what these trees add to the score of each choice, for a row with these codes.
    pub fn scores(&self, codes: &[u16]) -> Vec<f64> {
        let mut sums = vec![0; self.choices];
        for (tree, scores) in &self.trees {
            let scores = &scores[tree.leaf(codes) * self.choices..][..self.choices];
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += i32::from(*score));
        }
        sums.into_iter().map(|sum| f64::from(sum) * self.unit).collect()
    }

    /// Returns the price of a choice by what it saves: choices are allowed up to a price.
    pub fn price(saved: f64) -> f64 {
        if saved > 0.0 { PRICE / saved } else { f64::INFINITY }
    }

    /// Returns what a choice must save where choices are allowed up to this price; `None` if all are.
    pub fn margin(threshold: f64) -> Option<f64> {
        // No choice saves 1.
        threshold.is_finite().then(|| if threshold > 0.0 { PRICE / threshold } else { 1.0 })
    }

    /// Returns the trees of a model that allows choices up to this price.
    pub fn in_model(&self, columns: &Columns, threshold: f64) -> BoostedTrees {
        let column = |at: u16| {
            let test = columns.all()[usize::from(at)].test_behind(0);
            let category = match &test {
                Test::Categorical { category, .. } => Some(category.clone()),
                Test::Numerical { .. } => None,
            };
            BoostedColumn { slot: test.slot(), category }
        };
        let splits = || self.trees.iter().flat_map(|(tree, _)| tree.splits());
        let mut used: Vec<BoostedColumn> = splits().map(|(at, _)| column(at)).collect();
        used.sort_unstable();
        used.dedup();
        let mut model = BoostedTrees {
            trees: Vec::new(),
            scores: Vec::new(),
            unit: self.unit,
            margin: Self::margin(threshold),
            columns: used,
        };
        for (tree, scores) in &self.trees {
            let mut nodes = Vec::new();
            // A node, and the split whose right child it is.
            let mut open = vec![(0, None)];
            while let Some((at, right_of)) = open.pop() {
                let here = nodes.len() as u32;
                if let Some(BoostedNode::Split { right, .. }) =
                    right_of.and_then(|split: u32| nodes.get_mut(split as usize))
                {
                    *right = here;
                }
                match tree.split(at) {
                    None => {
                        nodes.push(BoostedNode::Leaf((model.scores.len() / self.choices) as u32));
                        model.scores.extend(&scores[at * self.choices..][..self.choices]);
                    }
                    Some((at, limit, left)) => {
                        let threshold = match columns.all()[usize::from(at)].test_behind(limit) {
                            Test::Numerical { threshold, .. } => threshold,
                            Test::Categorical { .. } => 0.0,
                        };
                        let column = model.columns.partition_point(|c| *c < column(at)) as u16;
                        nodes.push(BoostedNode::Split { column, threshold, right: 0 });
                        open.push((left + 1, Some(here)));
                        open.push((left, None));
                    }
                }
            }
            model.trees.push(nodes);
        }
        model
    }
}
