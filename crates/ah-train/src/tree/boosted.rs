//! Boosted trees over the inputs of one table.

use ah_types::{
    Added, BOOSTED_SCORES, BoostedColumn, BoostedNode, BoostedTrees, ChoiceId, LEAST_CAUTION, MARGIN_STEP,
    Test,
};

use super::lookup::Lookup;
use crate::data::Columns;

/// Trees whose scores add to those of an ordinary tree ([`BoostedTrees`]).
#[derive(Clone, Debug)]
pub struct Boosted {
    /// The number of scores of a leaf.
    pub choices: usize,
    /// What a score of 1 is worth.
    pub unit: f64,
    /// The trees.
    pub trees: Vec<BoostedTree>,
    /// The fallback, from which prices are computed; `None` without a promise.
    pub fallback: Option<ChoiceId>,
}

/// One of the trees.
#[derive(Clone, Debug)]
pub struct BoostedTree {
    /// The splits.
    pub splits: Lookup,
    /// Node after node, a score for each choice.
    pub scores: Vec<i8>,
    /// By node, the caution there in units of [`CAUTION_UNIT`]; empty if it is 1 everywhere.
    pub cautions: Vec<i8>,
}

/// What a caution of 1 is worth.
pub const CAUTION_UNIT: f64 = 1.0 / 32.0;

/// The price of a choice that saves 1, in the unit of the scores. With it, the thresholds that calibration tries reach from
/// far above the greatest saving to far below the least that matters.
const PRICE: f64 = 0.03;

/// Returns the score that comes nearest to a value, in this unit.
pub fn nearest_score(value: f64, unit: f64) -> i8 {
    let [least, most] = [BOOSTED_SCORES.start(), BOOSTED_SCORES.end()].map(|score| f64::from(*score));
    (value / unit).round().clamp(least, most) as i8
}

impl Boosted {
    /// Returns what these trees say about a row with these codes.
    pub fn added(&self, codes: &[u16]) -> Added {
        let (mut sums, mut caution) = (vec![0; self.choices], 0);
        for tree in &self.trees {
            let leaf = tree.splits.leaf(codes);
            let scores = &tree.scores[leaf * self.choices..][..self.choices];
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += i32::from(*score));
            caution += tree.cautions.get(leaf).map_or(0, |caution| i32::from(*caution));
        }
        Added {
            scores: sums.into_iter().map(|sum| f64::from(sum) * self.unit).collect(),
            caution: (1.0 + CAUTION_UNIT * f64::from(caution)).max(LEAST_CAUTION),
        }
    }

    /// Returns the price of a choice by what it saves: choices are allowed up to a price.
    pub fn price(saved: f64, caution: f64) -> f64 {
        if saved > 0.0 { PRICE * caution / saved } else { f64::INFINITY }
    }

    /// Returns what a choice must save where choices are allowed up to this price; `None` if all are.
    pub fn margin(threshold: f64) -> Option<f64> {
        // No choice saves 1, however low the caution.
        let margin = if threshold > 0.0 { PRICE / threshold } else { 1.0 / LEAST_CAUTION };
        threshold.is_finite().then(|| (margin / MARGIN_STEP).ceil() * MARGIN_STEP)
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
        let margin = Self::margin(threshold);
        let has_cautions = margin.is_some() && self.trees.iter().any(|tree| !tree.cautions.is_empty());
        let splits = || self.trees.iter().flat_map(|tree| tree.splits.splits());
        let mut used: Vec<BoostedColumn> = splits().map(|(at, _)| column(at)).collect();
        used.sort_unstable();
        used.dedup();
        let mut model = BoostedTrees {
            trees: Vec::new(),
            scores: Vec::new(),
            unit: self.unit,
            margin,
            caution_unit: has_cautions.then_some(CAUTION_UNIT),
            columns: used,
        };
        let length = model.row_length(self.choices);
        for tree in &self.trees {
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
                match tree.splits.split(at) {
                    None => {
                        nodes.push(BoostedNode::Leaf((model.scores.len() / length) as u32));
                        model.scores.extend(&tree.scores[at * self.choices..][..self.choices]);
                        model.scores.extend(tree.cautions.get(at).filter(|_| has_cautions));
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
