//! Boosting: many trees, each fitted to the errors of the trees before it (Friedman, "Greedy function approximation: a
//! gradient boosting machine", 2001). A leaf has one score for each choice.
//!
//! For PAR10 the trees are a forest (Breiman, "Random forests", 2001): each is fitted to the costs themselves, and their mean
//! counts. A run that times out costs a hundred others, and trees that correct each other chase it. On the folds of ASlib,
//! boosted trees close 0.21 of the gap to the best solver on CPMP-2015 and 0.65 on SAT11-HAND, a forest 0.36 and 0.72. Each tree
//! also votes for its leaf's best choice, because one time-out moves a mean more than a vote (docs/laboratory.md).

use ah_types::{Objective, RISK_UNIT, random};
use serde::Serialize;

use super::errors::Errors;
use super::fit_data::FitData;
use super::grow::grow_fit;
use super::parameters::CostTree;
use crate::data::costs::Cost;
use crate::data::{COST_ONE, Costs, Subset};
use crate::tree::{Booster, Boosters, CompactTree, FittedEnsemble, GrownTree, Scores, nearest};

/// The parameters of boosted trees.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boost {
    /// The number of trees.
    pub trees: u64,
    /// Most splits on a path.
    pub max_depth: usize,
    /// Fewest inputs in a leaf.
    pub min_samples_leaf: usize,
    /// Most leaves; `None`: as many as depth and inputs allow.
    pub max_leaves: Option<usize>,
    /// The share of a leaf's mean error that its scores take back.
    pub rate: f64,
    /// The share of the columns that grow a tree.
    pub column_share: f64,
    /// The share of the rows that grow a tree.
    pub row_share: f64,
    /// A leaf's scores are drawn towards 0 as by this many further inputs.
    pub shrinkage: f64,
    /// What a number of 1 in a row is worth: a power of two.
    pub unit: f64,
    /// Most numbers of a row by which splits are sought ([`Errors::samples`]); `None`: one for each choice. With 8, mm_a100
    /// loses 1.0078 instead of 1.0069 (docs/laboratory.md).
    pub sketch: Option<usize>,
    /// Most codes of a column of numbers; `None`: all. With 64 the search for splits judges fewer of them.
    pub most_codes: Option<usize>,
    /// True if each tree is fitted to the costs themselves, not to the errors of the trees before it.
    pub is_forest: bool,
}

/// The most positions in an order of categories. A model has a column for each set of categories that its boosters test; with all
/// 200 positions of 200 categories, boosters had 587 columns of 443 kB.
const MOST_POSITIONS: usize = 16;

/// What the vote of a forest's tree is worth, in PAR10's cost of a time-out. With 0.3, SAT11-HAND closes 0.75 of the gap instead of
/// 0.69 and MAXSAT12-PMS 0.93 instead of 0.90; 0.1 helps less (docs/laboratory.md).
const VOTE: f64 = 0.3;

impl Boost {
    /// The parameters that lose least on the convolutions for their size: 1.0402 on the forward ones, where twice the trees
    /// lose 1.0393 (docs/laboratory.md has the others).
    pub const DEFAULT: Self = Self {
        trees: 24,
        max_depth: 12,
        min_samples_leaf: 3,
        max_leaves: None,
        rate: 0.2,
        column_share: 0.6,
        row_share: 0.8,
        shrinkage: 1.0,
        unit: 1.0 / 2048.0,
        sketch: Some(64),
        most_codes: Some(64),
        is_forest: false,
    };

    /// The parameters for logs that are not large: more leaves only learn noise there, and 64 are the bits of a word
    /// ([`ah_types::LeafMasks`]), so that a decision goes down no path. On spmv_v100 (1,927 inputs) they lose 1.0160 instead of
    /// 1.0178, on softmax 1.0035 instead of 1.0042, on mixed_mm 1.0082 instead of 1.0077 (docs/laboratory.md has the others).
    pub const SMALL: Self = Self { max_leaves: Some(64), ..Self::DEFAULT };

    /// The parameters for many choices, where trees learn from smooth times (`joint::lessons`). With 64 leaves the picks of an H100's
    /// log of 640 choices lose 1.0604 as well, and the trees take more than twice the space (docs/laboratory.md).
    pub const OF_MANY: Self = Self { max_leaves: Some(24), ..Self::DEFAULT };

    /// The parameters of the trees that learn a [risk](Self::fit_risk). Slow inputs are few, so these trees are shallow, their
    /// leaves are large, and their scores are drawn far towards 0: in a simulation (1,000 inputs whose risk varies smoothly over
    /// two features, a promise of 2 % tested at 0.02), a shrinkage of 80 decides 68 % of what the truth decides, of 20 64 %.
    pub const RISK: Self = Self {
        trees: 24,
        max_depth: 4,
        min_samples_leaf: 10,
        max_leaves: None,
        rate: 0.2,
        column_share: 0.6,
        row_share: 0.8,
        shrinkage: 80.0,
        unit: RISK_UNIT,
        sketch: Some(64),
        most_codes: Some(64),
        is_forest: false,
    };

    /// Returns the parameters for the size of a log.
    pub fn of(is_large: bool) -> Self {
        if is_large { Self::DEFAULT } else { Self::SMALL }
    }

    /// Learns trees that add to the scores of `tree`.
    pub fn fit(&self, tree: GrownTree, rows: &Subset<'_>, targets: &Costs) -> FittedEnsemble {
        let choices = targets.choices();
        // A leaf of lessons is as large a share of the inputs as one of the log alone, so trees keep their size.
        let inputs: Vec<u32> = rows.inputs.iter().copied().chain(targets.further()).collect();
        let least = self.min_samples_leaf * inputs.len() / rows.inputs.len().max(1);
        let parameters = CostTree::greedy(self.max_depth, least);
        let (own, rows) = (rows, &Subset { columns: rows.columns, inputs: &inputs });
        let weights = rows.inputs.iter().map(|&input| targets.weight(input)).collect();
        // A row holds whole numbers up to 27, so the unit grows with the scores. It stays a power of two.
        let greatest = targets.objective().greatest();
        let unit = self.unit * (greatest / Objective::Geomean.greatest()).log2().floor().exp2();
        let targets = targets.saturated();
        // The same first scores everywhere: with those of the readable tree's leaves, which have seen the rows, forward
        // convolutions lose 1.0448 instead of 1.0398 (mean of two seeds).
        let first = Scores::constant(own, &targets, tree.nodes.len());
        let error = |c: &Cost| (c.choice.0, f64::from(c.cost) / COST_ONE - first.node(0)[c.choice.index()]);
        let row = |&input: &u32| targets.of(input).iter().map(error);
        let errors = Errors::new(choices, rows.inputs.iter().map(row), weights);
        let trees = self.trees(&parameters, rows, errors, unit, first.node(0));
        let booster = |(splits, numbers): (CompactTree, Vec<i8>)| {
            // Other trees learn the risk.
            let rows = numbers.chunks_exact(choices).flat_map(|row| row.iter().copied().chain([0]));
            Booster { splits, rows: rows.collect() }
        };
        let trees = trees.into_iter().map(booster).collect();
        let boosters = Boosters { row_length: choices + 1, unit, trees, ..Boosters::default() };
        let fitted = FittedEnsemble { boosters, ..FittedEnsemble::new(tree, first) };
        let scores = fitted.scores.measured_by(&fitted.members(own), &targets);
        FittedEnsemble { scores, ..fitted }
    }

    /// Learns trees for one number of each row, the input's risk, which is 1 on average.
    pub fn fit_risk(&self, boosters: &mut Boosters, rows: &Subset<'_>, risks: &[f64]) {
        let parameters = CostTree::greedy(self.max_depth, self.min_samples_leaf);
        let errors = Errors::new(1, risks.iter().map(|risk| [(0, risk - 1.0)]), vec![1; risks.len()]);
        let length = boosters.row_length;
        let booster = |(splits, numbers): (CompactTree, Vec<i8>)| {
            let mut rows = vec![0; numbers.len() * length];
            rows.iter_mut().skip(length - 1).step_by(length).zip(numbers).for_each(|(last, n)| *last = n);
            Booster { splits, rows }
        };
        let trees = self.trees(&parameters, rows, errors, self.unit, &[0.0]);
        boosters.risk_trees = trees.into_iter().map(booster).collect();
    }

    /// Returns trees with the numbers of their nodes, each fitted to the errors that those before it leave.
    fn trees(
        &self,
        parameters: &CostTree,
        rows: &Subset<'_>,
        mut errors: Errors,
        unit: f64,
        first: &[f64],
    ) -> Vec<(CompactTree, Vec<i8>)> {
        // Without columns, as where every feature is constant, no tree can split.
        let trees = if rows.columns.all().is_empty() { 0 } else { self.trees };
        let most_codes = self.most_codes.unwrap_or(usize::from(u16::MAX));
        let few = rows.columns.clone().with_few_codes(most_codes, MOST_POSITIONS);
        let coarse = Subset { columns: &few, inputs: rows.inputs };
        let codes = rows.columns.by_row(rows.inputs);
        let tree = |number: u64| {
            let tree = self.grow(parameters, &coarse, &errors, number);
            let leaves = tree.leaves(&codes, rows.columns.all().len());
            let mut means = errors.means(&leaves, tree.nodes(), self.shrinkage);
            if self.is_forest {
                means.chunks_exact_mut(errors.choices()).for_each(|means| vote(means, first));
            }
            let numbers: Vec<i8> = means.into_iter().map(|mean| nearest(mean * self.rate, unit)).collect();
            if !self.is_forest {
                let values: Vec<f64> = numbers.iter().map(|number| f64::from(*number) * unit).collect();
                errors.subtract(&leaves, &values);
            }
            (tree, numbers)
        };
        (0..trees).map(tree).collect()
    }

    /// Grows a tree from a random part of the rows and columns.
    fn grow(&self, parameters: &CostTree, rows: &Subset<'_>, errors: &Errors, number: u64) -> CompactTree {
        let all = rows.columns.all().len();
        let is_kept =
            |column: usize| random::fraction(random::mix(number, 0), column as u64) < self.column_share;
        let mut kept: Vec<usize> = (0..all).filter(|&column| is_kept(column)).collect();
        if kept.is_empty() {
            kept = (0..all).collect();
        }
        let is_picked = |row: &usize| random::fraction(random::mix(number, 1), *row as u64) < self.row_share;
        let picked: Vec<usize> = (0..errors.rows()).filter(is_picked).collect();
        let inputs: Vec<u32> = picked.iter().map(|&row| rows.inputs[row]).collect();
        let columns = kept.iter().map(|&at| &rows.columns.all()[at]).collect();
        let samples = errors.samples(&picked, self.sketch.unwrap_or(usize::MAX), random::mix(number, 2));
        let most_leaves = self.max_leaves.unwrap_or(usize::MAX);
        let tree = grow_fit(&FitData::with_samples(parameters, columns, &inputs, samples, most_leaves));
        CompactTree::new(&tree, &kept, rows.columns)
    }
}

/// Subtracts the [`VOTE`] from the mean of the choice that costs least in a leaf; choices that cost the same share it. `means` are
/// differences from the costs `first`.
fn vote(means: &mut [f64], first: &[f64]) {
    let costs: Vec<f64> = means.iter().zip(first).map(|(mean, first)| mean + first).collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let is_best = |cost: &f64| *cost <= least + 1e-9;
    let share = VOTE / costs.iter().filter(|cost| is_best(cost)).count().max(1) as f64;
    means.iter_mut().zip(&costs).filter(|(_, cost)| is_best(cost)).for_each(|(mean, _)| *mean -= share);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_choices_of_a_leaf_share_its_vote() {
        // The costs are 0.5, 0.1 and 0.9; then 0.1 twice.
        let mut means = [0.3, -0.1, 0.4];
        vote(&mut means, &[0.2, 0.2, 0.5]);
        assert_eq!(means, [0.3, -0.1 - VOTE, 0.4]);
        let mut means = [-0.1, -0.1, 0.4];
        vote(&mut means, &[0.2, 0.2, f64::INFINITY]);
        assert_eq!(means, [-0.1 - VOTE / 2.0, -0.1 - VOTE / 2.0, 0.4]);
    }
}
