//! Boosting: many trees, each fitted to the errors of the trees before it (Friedman, "Greedy function approximation: a
//! gradient boosting machine", 2001). A leaf has one score for each choice.
//!
//! For PAR10 the trees are a forest (Breiman, "Random forests", 2001): each is fitted to the costs themselves, and their mean
//! counts. A run that times out costs a hundred others, and trees that correct each other chase it. On the folds of ASlib,
//! boosted trees close 0.21 of the gap to the best solver on CPMP-2015 and 0.65 on SAT11-HAND, a forest 0.36 and 0.72. Each tree
//! also votes for its leaf's best choice, because one time-out moves a mean more than a vote (docs/laboratory.md).

use ah_types::{Objective, RISK_UNIT, random};
use serde::Serialize;

use super::best_splits::{ErrorRows, best_splits};
use super::fit_data::FitData;
use super::grow::grow_fit;
use super::parameters::CostTree;
use super::samples::Samples;
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
        is_forest: false,
    };

    /// The parameters for logs that are not large: more leaves only learn noise there, and 64 are the bits of a word
    /// ([`ah_types::LeafMasks`]), so that a decision goes down no path. On spmv_v100 (1,927 inputs) they lose 1.0160 instead of
    /// 1.0178, on softmax 1.0035 instead of 1.0042, on mixed_mm 1.0082 instead of 1.0077 (docs/laboratory.md has the others).
    pub const SMALL: Self = Self { max_leaves: Some(64), ..Self::DEFAULT };

    /// The parameters for many choices, where trees learn from smooth times (`joint::lessons`). With 64 leaves the picks of an H100's
    /// log of 640 choices lose 1.0604 as well, and the trees take more than twice the space (docs/laboratory.md).
    pub const OF_MANY: Self = Self { max_leaves: Some(24), ..Self::DEFAULT };

    /// The parameters of a forest. Each tree sees a third of the columns, as inputs are few and columns many, and 63 % of the
    /// rows, as many as a bootstrap sample has. With this unit, a row can hold the greatest cost over the number of trees.
    pub const FOREST: Self = Self {
        trees: 96,
        rate: 1.0 / 96.0,
        column_share: 0.33,
        row_share: 0.63,
        shrinkage: 0.0,
        unit: 1.0 / 8192.0,
        is_forest: true,
        ..Self::DEFAULT
    };

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
        is_forest: false,
    };

    /// Returns the parameters for an objective and the size of a log.
    pub fn of(objective: Objective, is_large: bool) -> Self {
        match objective {
            Objective::Geomean | Objective::Total if !is_large => Self::SMALL,
            Objective::Geomean | Objective::Total => Self::DEFAULT,
            Objective::Par10 => Self::FOREST,
        }
    }

    /// Learns trees that add to the scores of `tree`.
    pub fn fit(&self, tree: GrownTree, rows: &Subset<'_>, targets: &Costs) -> FittedEnsemble {
        let choices = targets.choices();
        // A leaf of lessons is as large a share of the inputs as one of the log alone, so trees keep their size.
        let inputs: Vec<u32> = rows.inputs.iter().copied().chain(targets.further()).collect();
        let least = self.min_samples_leaf * inputs.len() / rows.inputs.len().max(1);
        let parameters = CostTree::greedy(self.max_depth, least);
        let (own, rows) = (rows, &Subset { columns: rows.columns, inputs: &inputs });
        let weights: Vec<u32> = rows.inputs.iter().map(|&input| targets.weight(input)).collect();
        let greatest = targets.objective().greatest();
        // A row holds whole numbers up to 27, so the unit grows with the scores. It stays a power of two.
        let unit = self.unit * (greatest / Objective::Geomean.greatest()).log2().floor().exp2();
        let targets = targets.saturated();
        // The same first scores everywhere: with those of the readable tree's leaves, which have seen the rows, forward
        // convolutions lose 1.0448 instead of 1.0398 (mean of two seeds).
        let first = Scores::constant(own, &targets, tree.nodes.len());
        let error = |c: &Cost| f64::from(c.cost) / COST_ONE - first.node(0)[c.choice.index()];
        let row = |&input: &u32| targets.of(input).iter().map(|c| (c.choice.0, error(c))).collect();
        let mut left: Vec<Vec<(u32, f64)>> = rows.inputs.iter().map(row).collect();
        let codes = rows.columns.by_row(rows.inputs);
        let mut boosters = Boosters { row_length: choices + 1, unit, ..Boosters::default() };
        // Without columns, as where every feature is constant, no tree can split.
        let trees = if rows.columns.all().is_empty() { 0 } else { self.trees };
        for number in 0..trees {
            let grown = self.grow(&parameters, rows, &left, &weights, (choices, greatest), number);
            let leaves = grown.leaves(&codes, rows.columns.all().len());
            let leaf = |row: usize| leaves[row];
            let mut means = means(&left, &weights, leaf, (grown.nodes(), choices), self.shrinkage);
            if self.is_forest {
                means.chunks_exact_mut(choices).for_each(|means| vote(means, first.node(0)));
            }
            let numbers: Vec<i8> = means.into_iter().map(|mean| nearest(mean * self.rate, unit)).collect();
            let values: Vec<f64> = numbers.iter().map(|number| f64::from(*number) * unit).collect();
            if !self.is_forest {
                subtract(&mut left, leaf, &values, choices);
            }
            // Other trees learn the risk.
            let rows = numbers.chunks_exact(choices).flat_map(|row| row.iter().copied().chain([0]));
            boosters.trees.push(Booster { splits: grown, rows: rows.collect() });
        }
        let fitted = FittedEnsemble { boosters, ..FittedEnsemble::new(tree, first) };
        let scores = fitted.scores.measured_by(&fitted.members(own), &targets);
        FittedEnsemble { scores, ..fitted }
    }

    /// Learns trees for one number of each row, the input's risk, which is 1 on average.
    pub fn fit_risk(&self, boosters: &mut Boosters, rows: &Subset<'_>, risks: &[f64]) {
        let parameters = CostTree::greedy(self.max_depth, self.min_samples_leaf);
        let weights = vec![1; risks.len()];
        let mut left: Vec<Vec<(u32, f64)>> = risks.iter().map(|risk| vec![(0, risk - 1.0)]).collect();
        let greatest = risks.iter().copied().fold(1.0, f64::max);
        let codes = rows.columns.by_row(rows.inputs);
        boosters.risk_trees.clear();
        for number in 0..self.trees {
            let grown = self.grow(&parameters, rows, &left, &weights, (1, greatest), number);
            let leaves = grown.leaves(&codes, rows.columns.all().len());
            let means = means(&left, &weights, |row| leaves[row], (grown.nodes(), 1), self.shrinkage);
            let numbers: Vec<i8> =
                means.into_iter().map(|mean| nearest(mean * self.rate, self.unit)).collect();
            let values: Vec<f64> = numbers.iter().map(|number| f64::from(*number) * self.unit).collect();
            subtract(&mut left, |row| leaves[row], &values, 1);
            let mut rows = vec![0; numbers.len() * boosters.row_length];
            rows.chunks_exact_mut(boosters.row_length).zip(numbers).for_each(|(row, number)| {
                row[boosters.row_length - 1] = number;
            });
            boosters.risk_trees.push(Booster { splits: grown, rows });
        }
    }

    /// Grows a tree from a random part of the rows and columns. `greatest` is the greatest error.
    fn grow(
        &self,
        parameters: &CostTree,
        rows: &Subset<'_>,
        left: &[Vec<(u32, f64)>],
        weights: &[u32],
        (choices, greatest): (usize, f64),
        number: u64,
    ) -> CompactTree {
        let all = rows.columns.all().len();
        let is_kept =
            |column: usize| random::fraction(random::mix(number, 0), column as u64) < self.column_share;
        let mut kept: Vec<usize> = (0..all).filter(|&column| is_kept(column)).collect();
        if kept.is_empty() {
            kept = (0..all).collect();
        }
        let columns = rows.columns.part(|at, _| kept.contains(&at)).with_short_orders(MOST_POSITIONS);
        let is_picked = |row: &usize| random::fraction(random::mix(number, 1), *row as u64) < self.row_share;
        let picked: Vec<usize> = (0..rows.inputs.len()).filter(is_picked).collect();
        let inputs: Vec<u32> = picked.iter().map(|&row| rows.inputs[row]).collect();
        // In units of the greatest error, as soft targets are.
        let scaled = |&row: &usize| left[row].iter().map(|&(choice, x)| (choice, x / greatest)).collect();
        let values: Vec<Vec<(u32, f64)>> = picked.iter().map(scaled).collect();
        let values: Vec<&[(u32, f64)]> = values.iter().map(Vec::as_slice).collect();
        let weights: Vec<u32> = picked.iter().map(|&row| weights[row]).collect();
        let part = Subset { columns: &columns, inputs: &inputs };
        let samples = Samples::from_values(choices, &values, &weights);
        let tree = grow_fit(&FitData::with_samples(parameters, &part, samples));
        let tree = match self.max_leaves {
            Some(most) => {
                let shrinkage = self.shrinkage;
                let rows = ErrorRows { part: &part, errors: &values, weights: &weights, choices, shrinkage };
                best_splits(&tree, &rows, most)
            }
            None => tree,
        };
        CompactTree::new(&tree, &kept, &columns)
    }
}

/// Returns the weighted mean value of each choice in each of `nodes` nodes. `node` is the node that a
/// row reaches.
fn means(
    left: &[Vec<(u32, f64)>],
    weights: &[u32],
    node: impl Fn(usize) -> usize,
    (nodes, choices): (usize, usize),
    shrinkage: f64,
) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); nodes * choices];
    for (row, (cells, &weight)) in left.iter().zip(weights).enumerate() {
        for &(choice, value) in cells {
            let (sum, count) = &mut sums[node(row) * choices + choice as usize];
            *sum += value * f64::from(weight);
            *count += f64::from(weight);
        }
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / (count + shrinkage) } else { 0.0 }).collect()
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

/// Subtracts from each row the values of the node that it reaches.
fn subtract(left: &mut [Vec<(u32, f64)>], node: impl Fn(usize) -> usize, values: &[f64], choices: usize) {
    for (row, cells) in left.iter_mut().enumerate() {
        for (choice, value) in cells {
            *value -= values[node(row) * choices + *choice as usize];
        }
    }
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
