//! What a configuration costs on the inputs that folds hold out.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::data::split::Partition;
use crate::data::{COST_ONE, Columns, Costs, FitRows};
use crate::learners::Learner;
use crate::tree::FittedEnsemble;

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

/// Learns a tree in each fold. Returns it, and what it costs on each input held out.
pub fn cross_validate(
    learner: &dyn Learner,
    folds: &[Fold<'_>],
    costs: &Costs,
) -> Vec<(FittedEnsemble, Vec<f64>)> {
    let judged = |Fold { part: Partition { training, held_out }, columns }: &Fold<'_>| {
        let rows = FitRows { columns, inputs: training };
        let fitted = learner.fit(&rows, costs, None);
        let cost = |&input: &u32| {
            let leaf = columns.leaf(&fitted.tree, input);
            f64::from(fitted.scores.cost(leaf, costs, input)) / COST_ONE
        };
        let costs = held_out.iter().map(cost).collect();
        (fitted, costs)
    };
    folds.par_iter().map(judged).collect()
}

/// The weighted mean of these costs.
pub fn mean(costs: &[f64], weights: &[f64]) -> f64 {
    let sum: f64 = costs.iter().zip(weights).map(|(cost, weight)| cost * weight).sum();
    sum / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE)
}

/// How much the first costs exceed the second on average, on the same inputs, and the standard error. Inputs of one group
/// differ together, so that each group is one draw: 200 inputs in 20 groups had a third of their error.
pub fn difference(first: &[f64], second: &[f64], weights: &[f64], groups: Option<&[u64]>) -> (f64, f64) {
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| first - second).collect();
    let mean = mean(&differences, weights);
    let mut of_groups: BTreeMap<u64, f64> = BTreeMap::new();
    for (at, (difference, weight)) in differences.iter().zip(weights).enumerate() {
        let group = groups.map_or(at as u64, |groups| groups[at]);
        *of_groups.entry(group).or_default() += weight * (difference - mean);
    }
    let squares: f64 = of_groups.values().map(|sum| sum.powi(2)).sum();
    (mean, squares.sqrt() / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_measured_on_the_same_inputs_by_weight() {
        let equal = [1.0; 4];
        assert_eq!(difference(&[1.0, 2.0, 3.0, 4.0], &[0.5, 1.5, 2.5, 3.5], &equal, None), (0.5, 0.0));
        let (mean, error) = difference(&[1.0, 0.0], &[0.0, 0.0], &[3.0, 1.0], None);
        assert!((mean - 0.75).abs() < 1e-12 && (error - 0.75 * 2.0_f64.sqrt() / 4.0).abs() < 1e-12);
    }

    #[test]
    fn inputs_of_a_group_are_one_draw() {
        // 20 groups of 10 inputs; those of a group differ by as much.
        let groups: Vec<u64> = (0..200).map(|at| at / 10).collect();
        let costs: Vec<f64> = groups.iter().map(|group| (group * 7 % 5) as f64).collect();
        let none = [0.0; 200];
        let weights = [1.0; 200];
        let (mean, alone) = difference(&costs, &none, &weights, None);
        let (same, together) = difference(&costs, &none, &weights, Some(&groups));
        assert_eq!((mean, mean), (same, 2.0));
        assert!((together / alone - 10.0_f64.sqrt()).abs() < 1e-9, "{alone} {together}");
    }
}
