//! The cost of each configuration on held-out folds.

use rayon::prelude::*;

use super::configuration::Configuration;
use crate::data::split::Partition;
use crate::data::{COST_ONE, Columns, Costs, FitRows};
use crate::learners::{CostTree, Criterion, LinfaTrees};
use crate::params::LearnerKind;
use crate::tree::GrownTree;

/// A tree must be better than one leaf by this many standard errors: a test at 5 %. Where times are noise it takes the best
/// single choice in 16 of 16 cases; on 13 honest logs of 60 to 250 inputs it costs 0.0007 in the mean. So only logs without a
/// declared optimization, whose features nobody chose, are tested.
pub const BEYOND_NOISE: f64 = 1.645;

/// A fold.
#[derive(Clone, Copy)]
pub struct Fold<'a> {
    /// The inputs to learn from, and those that it holds out.
    pub part: &'a Partition,
    /// The columns, whose categories are ordered by the inputs to learn from alone.
    pub columns: &'a Columns,
}

/// The configurations to search: every growth at every depth.
pub struct Grid {
    /// Configurations at the greatest depth, the preferred one first.
    pub growths: Vec<Configuration>,
    /// Depths, ascending; 0 is one leaf, the last one is the growths' depth.
    pub depths: Vec<usize>,
}

impl Grid {
    /// Returns the grid of a learner over these depths, ascending, and leaf sizes.
    pub fn new(kind: LearnerKind, depths: &[usize], leaves: &[usize]) -> Self {
        let max_depth = depths.last().copied().unwrap_or(1);
        let growths = leaves.iter().flat_map(|&min_samples_leaf| match kind {
            LearnerKind::Auto | LearnerKind::CostTree | LearnerKind::Boosted => {
                vec![Configuration::CostTree(CostTree::new(max_depth, min_samples_leaf))]
            }
            LearnerKind::Linfa => {
                let with = |criterion| LinfaTrees { criterion, max_depth, min_samples_leaf };
                [Criterion::Gini, Criterion::Entropy].map(with).map(Configuration::Linfa).to_vec()
            }
        });
        Self { growths: growths.collect(), depths: depths.to_vec() }
    }
}

/// A configuration and its cost on held-out folds.
pub struct ScoredConfiguration {
    /// The configuration.
    pub configuration: Configuration,
    /// The mean cost by the objective.
    pub cost: f64,
    /// The standard error of the cost's difference from the first configuration's.
    pub error: f64,
    /// The tree of each fold.
    pub trees: Vec<GrownTree>,
    /// The cost of each input, in the order in which the folds hold them out.
    pub costs: Vec<f64>,
}

/// Learns every configuration of the grid and judges it on the folds.
///
/// One growth serves all depths: the tree is grown to the greatest depth and cut back.
pub fn cross_validate(grid: &Grid, folds: &[Fold<'_>], costs: &Costs) -> Vec<ScoredConfiguration> {
    let weights: Vec<f64> =
        folds.iter().flat_map(|fold| &fold.part.held_out).map(|&i| f64::from(costs.weight(i))).collect();
    let mut all: Vec<ScoredConfiguration> = Vec::new();
    for growth in &grid.growths {
        // By fold: for each depth the tree, and the cost of each held-out input.
        let of_fold = |Fold { part: Partition { training, held_out }, columns }: &Fold<'_>| {
            let rows = FitRows { columns, inputs: training };
            let grown = growth.grow(&rows, costs);
            let by_depth = |depth: &usize| {
                let (tree, scores) = growth.with_depth(*depth).finish(&grown, &rows, costs);
                let cost = |&input: &u32| {
                    f64::from(scores.cost(tree.leaf_of(columns, input), costs, input)) / COST_ONE
                };
                let costs: Vec<f64> = held_out.iter().map(cost).collect();
                (tree, costs)
            };
            grid.depths.iter().map(by_depth).collect::<Vec<_>>()
        };
        let mut by_fold: Vec<Vec<(GrownTree, Vec<f64>)>> = folds.par_iter().map(of_fold).collect();
        let begin = all.len();
        for depth in grid.depths.iter().rev() {
            let of_depth = by_fold.iter_mut().filter_map(Vec::pop);
            let (trees, costs): (Vec<GrownTree>, Vec<Vec<f64>>) = of_depth.unzip();
            let costs = costs.concat();
            let configuration = growth.with_depth(*depth);
            let cost = mean(&costs, &weights);
            all.push(ScoredConfiguration { configuration, cost, error: 0.0, trees, costs });
        }
        all[begin..].reverse();
    }
    // The first growth at its greatest depth.
    let first = all[grid.depths.len() - 1].costs.clone();
    all.iter_mut().for_each(|scored| scored.error = difference(&scored.costs, &first, &weights).1);
    all
}

/// Returns the first configuration at its greatest depth, unless another is better by 1.96 standard errors.
/// The cheapest alone would follow the noise of the folds. Returns one leaf, if it is among them, unless that
/// configuration is better by [`BEYOND_NOISE`]. There is at least one.
pub fn best(scored: &[ScoredConfiguration]) -> &ScoredConfiguration {
    let is_leaf = |s: &&ScoredConfiguration| s.configuration.max_depth() == 0;
    let deepest = scored.iter().map(|s| s.configuration.max_depth()).max();
    let first = scored.iter().find(|s| Some(s.configuration.max_depth()) == deepest).unwrap_or(&scored[0]);
    let better = |s: &&ScoredConfiguration| s.cost + 1.96 * s.error < first.cost;
    let best = scored.iter().filter(better).min_by(|a, b| a.cost.total_cmp(&b.cost)).unwrap_or(first);
    let is_noise = |leaf: &&ScoredConfiguration| leaf.cost - BEYOND_NOISE * leaf.error <= best.cost;
    scored.iter().find(is_leaf).filter(is_noise).unwrap_or(best)
}

/// Returns the weighted mean of these costs.
pub fn mean(costs: &[f64], weights: &[f64]) -> f64 {
    let sum: f64 = costs.iter().zip(weights).map(|(cost, weight)| cost * weight).sum();
    sum / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE)
}

/// Returns how much the first costs exceed the second on average, on the same inputs, and the standard error.
pub fn difference(first: &[f64], second: &[f64], weights: &[f64]) -> (f64, f64) {
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| first - second).collect();
    let mean = mean(&differences, weights);
    let squares: f64 =
        differences.iter().zip(weights).map(|(difference, w)| (w * (difference - mean)).powi(2)).sum();
    (mean, squares.sqrt() / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_measured_on_the_same_inputs_by_weight() {
        let equal = [1.0; 4];
        assert_eq!(difference(&[1.0, 2.0, 3.0, 4.0], &[0.5, 1.5, 2.5, 3.5], &equal), (0.5, 0.0));
        let (mean, error) = difference(&[1.0, 0.0], &[0.0, 0.0], &[3.0, 1.0]);
        assert!((mean - 0.75).abs() < 1e-12 && (error - 0.75 * 2.0_f64.sqrt() / 4.0).abs() < 1e-12);
    }
}
