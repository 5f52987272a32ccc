//! `linfa`: classification of the winner with linfa-trees. It is the baseline for `cost_tree`.
//!
//! linfa-trees 0.8.1 has traps; each was measured and has a test in `tests/it/linfa_traps.rs`.
//!
//! | trap | guard |
//! | --- | --- |
//! | It compares a row with the next row of the whole data set instead of the node, so it never tries some splits. This costs up to 12 points of held-out accuracy on boolean and repeated integer columns. | It fits one split at a time, on the rows of that node alone. |
//! | Sums and ties follow the order of a hash map, so fits differ between runs. | Of the splits that equal its split up to rounding, the first by (column, code) is taken. |
//! | It prunes splits whose sides have the same most frequent class; ties of classes follow the hash map. | Its split before pruning is read. |
//! | Values closer than 1e-5 never split. Without a depth limit, NaN and infinity overflow the stack. | It sees codes 0, 1, 2, …, and the depth is always limited. |
//! | It fits with `<=` but predicts with `<`. | Only its split is read; our tree routes the rows. |
//! | Leaves hold one class and no counts. | Leaves are made from the rows that reach them. |
//! | `min_weight_leaf` is a sum of weights, `min_weight_split` a number of rows. | All weights are 1. |
//!
//! The first two traps rule out one fit of the whole tree: it would be worse, and could differ in every
//! run. So linfa-trees fits a stump at each node, and of each stump only the impurity is used: the
//! scan that breaks the ties finds the split again. That scan could find the best split alone;
//! linfa-trees stays because its choice is the baseline.

use ah_joint::growth::{Node, Tree};
use ah_model::ChoiceId;
use linfa::dataset::DatasetBase;
use linfa::traits::Fit;
use linfa_trees::{DecisionTree, SplitQuality};
use ndarray::{Array1, Array2};

use super::{Learner, Residuals};
use crate::data::{Costs, FitRows};
use crate::tree::FittedEnsemble;

/// The parameters of the learner.
#[derive(Clone, Debug)]
pub struct LinfaTrees {
    /// Most splits on a path.
    pub max_depth: usize,
    /// Fewest inputs in a leaf.
    pub min_samples_leaf: usize,
}

/// linfa-trees sums squares in single precision and in any order: impurities this close may be equal.
const ROUNDING: f64 = 1e-6;

/// A split must lower the impurity by this much. It is linfa's default, but checked here: in linfa,
/// rounding decides whether a split without gain is taken.
const MIN_IMPURITY_DECREASE: f64 = 1e-5;

impl LinfaTrees {
    /// Grows a tree that tells the winners of these rows apart.
    pub fn grow(&self, rows: &FitRows<'_>, winner: impl Fn(u32) -> Option<ChoiceId>) -> Tree {
        let columns = &rows.columns.all;
        let mut tree = Tree::default();
        let mut todo = vec![(0, 0, rows.inputs.to_vec())];
        while let Some((node, depth, inputs)) = todo.pop() {
            if depth >= self.max_depth || inputs.len() < 2 * self.min_samples_leaf || columns.is_empty() {
                continue;
            }
            let rows = FitRows { columns: rows.columns, inputs: &inputs };
            let class = |&input: &u32| winner(input).map_or(usize::MAX, ChoiceId::index);
            let classes: Vec<usize> = inputs.iter().map(class).collect();
            let Some(impurity) = self.impurity_of_best_split(&rows, &classes) else { continue };
            let Some((column, left, right)) = self.first_split_within(&rows, &classes, impurity) else {
                continue;
            };
            let limit = columns[column].limit(left, right);
            let codes = &columns[column].codes;
            let (on_left, on_right) = inputs.iter().partition(|&&i| codes[i as usize] <= limit);
            let left = tree.split(node, Node { column: column as u32, limit, ..Node::default() });
            todo.extend([(left + 1, depth + 1, on_right), (left, depth + 1, on_left)]);
        }
        tree
    }

    /// The impurity of linfa's split of these rows, if it finds one. linfa refuses nothing but
    /// its parameters, which are constant here; a node that it refused all the same would stay a leaf.
    fn impurity_of_best_split(&self, rows: &FitRows<'_>, classes: &[usize]) -> Option<f64> {
        let columns = &rows.columns.all;
        let codes = Array2::from_shape_fn((rows.inputs.len(), columns.len()), |(row, column)| {
            f64::from(columns[column].codes[rows.inputs[row] as usize])
        });
        let dataset = DatasetBase::new(codes, Array1::from(classes.to_vec()));
        let stump = DecisionTree::params()
            .split_quality(SplitQuality::Gini)
            .max_depth(Some(1))
            .min_weight_split(2.0)
            .min_weight_leaf(self.min_samples_leaf as f32)
            .min_impurity_decrease(f64::EPSILON)
            .fit(&dataset)
            .ok()?;
        // A pruned stump is a leaf but still holds its split.
        let (column, value, decrease) = stump.root_node().split();
        if decrease <= 0.0 {
            return None;
        }
        let mut sides = [Counts::default(), Counts::default()];
        let mut whole = Counts::default();
        for (&input, &class) in rows.inputs.iter().zip(classes) {
            let right = f64::from(columns[column].codes[input as usize]) > value;
            sides[usize::from(right)].add(class, 1);
            whole.add(class, 1);
        }
        let impurity = impurity_of(&sides[0], &sides[1]);
        let decrease = impurity_of(&whole, &Counts::default()) - impurity;
        (decrease >= MIN_IMPURITY_DECREASE).then_some(impurity)
    }

    /// The column and the neighbouring codes of the first split, by (column, code), that has
    /// this impurity up to rounding.
    fn first_split_within(
        &self,
        rows: &FitRows<'_>,
        classes: &[usize],
        impurity: f64,
    ) -> Option<(usize, u16, u16)> {
        for (column, c) in rows.columns.all.iter().enumerate() {
            let mut sorted: Vec<(u16, usize)> =
                rows.inputs.iter().zip(classes).map(|(&i, &class)| (c.codes[i as usize], class)).collect();
            sorted.sort_unstable();
            let (mut left, mut right) = (Counts::default(), Counts::default());
            sorted.iter().for_each(|&(_, class)| right.add(class, 1));
            for pair in sorted.windows(2) {
                left.add(pair[0].1, 1);
                right.add(pair[0].1, -1);
                let allowed = left.total.min(right.total) >= self.min_samples_leaf as i64;
                if pair[0].0 < pair[1].0 && allowed && impurity_of(&left, &right) <= impurity + ROUNDING {
                    return Some((column, pair[0].0, pair[1].0));
                }
            }
        }
        None
    }
}

impl Learner for LinfaTrees {
    fn fit(&self, rows: &FitRows<'_>, targets: &Costs, _: Option<&Residuals>) -> FittedEnsemble {
        self.with_scores(self.grow(rows, |input| targets.winner(input)), rows, targets)
    }
}

/// The mean Gini impurity of two sides, weighted by their rows.
fn impurity_of(left: &Counts, right: &Counts) -> f64 {
    let rows = |counts: &Counts| counts.total as f64;
    // n * (1 - sum of (count / n)²)
    let side = |counts: &Counts| {
        let squares: f64 = counts.by_class.iter().map(|&count| (count as f64).powi(2)).sum();
        rows(counts) - squares / rows(counts).max(1.0)
    };
    (side(left) + side(right)) / (rows(left) + rows(right))
}

/// Numbers of rows by class.
#[derive(Default)]
struct Counts {
    by_class: Vec<i64>,
    total: i64,
}

impl Counts {
    fn add(&mut self, class: usize, rows: i64) {
        // Inputs without a winner (`usize::MAX`) are the class 0.
        let class = class.wrapping_add(1);
        if self.by_class.len() <= class {
            self.by_class.resize(class + 1, 0);
        }
        self.by_class[class] += rows;
        self.total += rows;
    }
}
