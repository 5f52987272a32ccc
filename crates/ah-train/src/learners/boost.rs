//! Boosted trees ([`ah_joint::Boosting`]) beside or under a readable tree. A leaf has one score for each choice.

use ah_model::math::{exp2, log2};
use std::f64::consts::LN_2;

use ah_joint::growth::Tree;
use ah_joint::{BoostedTree, Boosting, Errors};
use ah_model::Objective;
use serde::Serialize;

use crate::data::costs::Cost;
use crate::data::{COST_ONE, Costs, FitRows};
use crate::params::Size;
use crate::tree::{Booster, Boosters, FittedEnsemble, Scores, nearest};

/// Boosted trees whose rows hold whole numbers. A tree of more than 64 leaves becomes several [parts](Booster::parts).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boost {
    /// Their parameters.
    #[serde(flatten)]
    pub trees: Boosting,
    /// What a number of 1 in a row is worth: a power of two.
    pub unit: f64,
}

/// What a formula leaves of the times of each row: (choice, doublings).
pub type Residuals = Vec<Vec<(u32, f64)>>;

/// The residuals of a formula reach further than saturated costs, so a number of 1 in a row is worth this much more.
const ON_FORMULA: f64 = 4.0;

/// Most codes of a column of numbers.
const MOST_CODES: usize = 256;

/// The most positions in an order of categories. A model has a column for each set of categories that its boosters test; with all
/// 200 positions of 200 categories, boosters had 587 columns of 443 kB.
const MOST_POSITIONS: usize = 16;

impl Boost {
    /// The parameters of a model of the usual size. A decision goes down no path, as 64 leaves are the bits of a word. It reads
    /// every column that any tree tests, so those of earlier trees are preferred: of mixed_mm's 21 columns 16 remain, of mm's 27
    /// 18, and the loss is the same (docs/laboratory.md).
    pub const DEFAULT: Self = Self {
        trees: Boosting {
            trees: 24,
            max_depth: 12,
            min_samples_leaf: 3,
            max_leaves: 64,
            rate: 0.2,
            column_share: 0.6,
            new_column: 0.4,
            row_share: 0.8,
            shrinkage: 1.0,
        },
        unit: 1.0 / 2048.0,
    };

    /// The parameters of the model that loses least, whatever its size: in the mean of 21 logs 0.20 points less than 24 trees
    /// (docs/laboratory.md).
    pub const BEST: Self = Self {
        trees: Boosting { trees: 192, rate: 0.05, new_column: 1.0, ..Self::DEFAULT.trees },
        unit: 1.0 / 8192.0,
    };

    /// The parameters for a [large](crate::plan::LARGE) log, whose inputs trees of 64 leaves do not distinguish: with 192 of them the
    /// convolutions lose 0.3 points more always deciding and 0.6 with a promise of 1 %, and are learned in 1.2 times the time.
    pub const LARGE: Self = Self {
        trees: Boosting {
            trees: 48,
            max_depth: 20,
            max_leaves: 400,
            rate: 0.12,
            shrinkage: 0.3,
            ..Self::DEFAULT.trees
        },
        ..Self::DEFAULT
    };

    /// The parameters for a size of the model and a log that may be large.
    ///
    /// `takes_more`: no run waits for a decision, and a row is one part of the executor's. Then twice the trees at half the rate: SpMV
    /// loses 0.44 points less with a promise of 1 %, and 0.11 always deciding (four devices, six seeds), but a decision takes
    /// 620 instead of 357 ns, which is 1 to 4 % of a run that waits for it.
    pub fn of(size: Size, is_large: bool, takes_more: bool) -> Self {
        match size {
            _ if is_large => Self::LARGE,
            Size::Best => Self::BEST,
            _ if takes_more => {
                let trees = Boosting { trees: 48, rate: 0.1, ..Self::DEFAULT.trees };
                Self { trees, ..Self::DEFAULT }
            }
            _ => Self::DEFAULT,
        }
    }

    /// Learns trees that add to the scores of `tree`. On a formula half of them learn its `residuals`, by row, and half what they learn
    /// without one; both are in doublings of the time, as the formula is.
    pub fn fit(
        &self,
        tree: Tree,
        rows: &FitRows<'_>,
        targets: &Costs,
        residuals: Option<Residuals>,
    ) -> FittedEnsemble {
        let choices = targets.choices;
        // A row holds whole numbers up to 27, so the unit grows with the scores. It stays a power of two.
        let greatest = targets.objective.greatest();
        let unit = self.unit * exp2(log2(greatest / Objective::Geomean.greatest()).floor());
        let (unit, scale) = if residuals.is_some() { (unit * ON_FORMULA, LN_2) } else { (unit, 1.0) };
        let targets = targets.saturated();
        // The same first scores everywhere: with those of the readable tree's leaves, which have seen the rows, forward
        // convolutions lose 1.0448 instead of 1.0398 (mean of two seeds).
        let first = Scores::constant(rows, &targets, tree.nodes.len()).over(scale);
        let error =
            |c: &Cost| (c.choice.0, f64::from(c.cost) / COST_ONE / scale - first.node(0)[c.choice.index()]);
        let row = |&input: &u32| targets.of(input).iter().map(error);
        let weights: Vec<u32> = rows.inputs.iter().map(|&input| targets.weight(input)).collect();
        let errors = Errors::new(choices, rows.inputs.iter().map(row), weights.clone());
        let trees = match residuals {
            None => boosters(&self.trees, rows, errors, unit),
            Some(residuals) => {
                let half = Boosting { trees: self.trees.trees.div_ceil(2), ..self.trees.clone() };
                let residuals = Errors::new(choices, residuals.into_iter(), weights);
                [boosters(&half, rows, residuals, unit), boosters(&half, rows, errors, unit)].concat()
            }
        };
        let boosters = Boosters { row_length: choices, unit, trees };
        let fitted = FittedEnsemble { boosters, ..FittedEnsemble::new(tree, first) };
        let scores = fitted.scores.measured_by(&fitted.members(rows), &targets);
        FittedEnsemble { scores, ..fitted }
    }
}

/// Fits trees to these errors of the rows. The numbers of their nodes are worth `unit` each.
fn boosters(trees: &Boosting, rows: &FitRows<'_>, mut errors: Errors, unit: f64) -> Vec<Booster> {
    let few = rows.columns.clone().with_few_codes(MOST_CODES, MOST_POSITIONS);
    let rounded = |value: f64| f64::from(nearest(value, unit)) * unit;
    let booster = |BoostedTree { mut splits, values }: BoostedTree| {
        for node in splits.nodes.iter_mut().filter(|node| node.left > 0) {
            node.limit = few.all[node.column as usize].before_merging(node.limit);
        }
        Booster { splits, rows: values.into_iter().map(|value| nearest(value, unit)).collect() }
    };
    let fitted = trees.fit(few.codes(), rows.inputs, &mut errors, 0, rounded);
    fitted.into_iter().map(booster).flat_map(Booster::parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Columns;
    use ah_types::random;

    #[test]
    fn columns_of_earlier_trees_are_preferred() {
        // Two columns tell the error, twelve and the last are noise.
        let noise = |column: u64| (0..400).map(|row| random::fraction(column, row)).collect();
        let columns: Vec<Vec<f64>> = (0..15).map(noise).collect();
        let error = |row: usize| [(0, (columns[0][row] - columns[1][row]).abs() + 0.3 * columns[14][row])];
        let ranked = Columns::from_numbers(&columns[..14], 256);
        let inputs = Vec::from_iter(0..400);
        let rows = FitRows { columns: &ranked, inputs: &inputs };
        let tested = |new_column: f64| {
            let Boost { trees, unit } = Boost::DEFAULT;
            let few = Boosting { new_column, trees: 6, max_leaves: 8, ..trees };
            let trees = boosters(&few, &rows, Errors::new(1, (0..400).map(error), vec![1; 400]), unit);
            let nodes = trees.iter().flat_map(|tree| &tree.splits.nodes).filter(|node| node.left > 0);
            nodes.map(|node| node.column).collect::<std::collections::BTreeSet<u32>>()
        };
        let [preferring, all] = [0.4, 1.0].map(tested);
        assert!(preferring.is_superset(&[0, 1].into()), "{preferring:?}");
        assert!(preferring.len() + 2 < all.len(), "{preferring:?} of {all:?}");
    }

    #[test]
    fn a_large_tree_becomes_parts_that_add_up() {
        let grid = [20, 1].map(|step| (0..400).map(|row| f64::from(row / step % 20)).collect::<Vec<f64>>());
        let ranked = Columns::from_numbers(&grid, 256);
        let inputs = Vec::from_iter(0..400);
        let rows = FitRows { columns: &ranked, inputs: &inputs };
        let numbers: Vec<i32> = (0..400).map(|row| (random::fraction(1, row) * 57.0) as i32 - 29).collect();
        // One tree separates all inputs.
        let Boost { trees, unit } = Boost::DEFAULT;
        let one = Boosting { trees: 1, max_leaves: 400, min_samples_leaf: 1, rate: 1.0, ..trees };
        let one = Boosting { max_depth: 40, column_share: 1.0, row_share: 1.0, shrinkage: 0.0, ..one };
        let error = |row: usize| [(0, f64::from(numbers[row]) * unit)];
        let parts = boosters(&one, &rows, Errors::new(1, (0..400).map(error), vec![1; 400]), unit);
        assert!(parts.len() > 6 && parts.iter().all(|part| part.splits.leaves() <= 64));
        for (input, number) in (0..).zip(&numbers) {
            let reached = parts.iter().map(|part| i32::from(part.rows[ranked.leaf(&part.splits, input)]));
            assert_eq!(reached.sum::<i32>(), *number);
        }
    }
}
