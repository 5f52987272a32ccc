//! The cost of each configuration on held-out folds.

use rayon::prelude::*;
use serde::Serialize;

use super::configuration::Configuration;
use super::grid::Grid;
use crate::data::split::Partition;
use crate::data::{COST_ONE, Columns, Costs, FitRows};
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

/// A configuration and its cost on held-out folds.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredConfiguration {
    /// The configuration.
    pub configuration: Configuration,
    /// The mean cost by the objective.
    pub cost: f64,
    /// The standard error of the cost's difference from the first configuration's.
    pub error: f64,
    /// What was learned on each fold: the tree, and its log slowdown on each held-out input.
    #[serde(skip)]
    pub folds: Vec<(GrownTree, Vec<f64>)>,
}

/// Learns every configuration of the grid and judges it on the folds.
///
/// One growth serves all depths: the tree is grown to the greatest depth and cut back.
pub fn cross_validate(grid: &Grid, folds: &[Fold<'_>], costs: &Costs) -> Vec<ScoredConfiguration> {
    let tasks: Vec<(usize, usize)> =
        (0..grid.growths.len()).flat_map(|g| (0..folds.len()).map(move |f| (g, f))).collect();
    // By growth and fold: for each depth the tree, and the cost of each held-out input.
    let by_task: Vec<Vec<(GrownTree, Vec<f64>)>> = tasks
        .into_par_iter()
        .map(|(g, fold)| {
            let Fold { part: Partition { training, held_out }, columns } = folds[fold];
            let rows = FitRows { columns, inputs: training };
            let grown = grid.growths[g].grow(&rows, costs);
            let by_depth = |depth: &usize| {
                let (tree, scores) = grid.growths[g].with_depth(*depth).finish(&grown, &rows, costs);
                let cost = |&input: &u32| {
                    f64::from(scores.cost(tree.leaf_of(columns, input), costs, input)) / COST_ONE
                };
                let costs: Vec<f64> = held_out.iter().map(cost).collect();
                (tree, costs)
            };
            grid.depths.iter().map(by_depth).collect()
        })
        .collect();
    let of = |g: usize, depth: usize| {
        let of_growth = &by_task[g * folds.len()..(g + 1) * folds.len()];
        of_growth.iter().flat_map(move |fold| fold[depth].1.iter().copied())
    };
    let weights: Vec<f64> =
        folds.iter().flat_map(|fold| &fold.part.held_out).map(|&i| f64::from(costs.weight(i))).collect();
    let total: f64 = weights.iter().sum();
    let deepest = grid.depths.len() - 1;
    let score = |g: usize, depth: usize| {
        let cost = of(g, depth).zip(&weights).map(|(c, w)| c * w).sum::<f64>() / total;
        let first = of(0, deepest).zip(&weights).map(|(c, w)| c * w).sum::<f64>() / total;
        let pairs = of(g, depth).zip(of(0, deepest)).zip(&weights);
        let squares: f64 = pairs.map(|((a, b), w)| (w * (a - b - (cost - first))).powi(2)).sum();
        ScoredConfiguration {
            configuration: grid.growths[g].with_depth(grid.depths[depth]),
            cost,
            error: squares.sqrt() / total,
            folds: by_task[g * folds.len()..(g + 1) * folds.len()].iter().map(|f| f[depth].clone()).collect(),
        }
    };
    let configurations = (0..grid.growths.len()).flat_map(|g| (0..grid.depths.len()).map(move |d| (g, d)));
    configurations.map(|(g, d)| score(g, d)).collect()
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

/// Returns how much the first losses exceed the second on average, on the same inputs, and the standard error.
pub fn difference(first: &[f64], second: &[f64]) -> (f64, f64) {
    let n = first.len().max(1) as f64;
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| first - second).collect();
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    (mean, squares.sqrt() / n)
}
