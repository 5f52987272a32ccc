//! Whether boosted trees take the place of a single one.

use ah_types::{Device, LearnerKind};
use rayon::prelude::*;

use super::configuration::Configuration;
use super::cross_validation::{BEYOND_NOISE, ScoredConfiguration};
use crate::data::split::Partition;
use crate::data::{COST_ONE, Columns, Rows, Targets, Task};
use crate::error::TrainError;
use crate::learners::Boost;
use crate::plan::TrainPlan;
use crate::tree::GrownTree;

/// Boosted trees are many times as large as others. They must lose this much less in log slowdown, or that must at least
/// be within a standard error: on small logs the folds are noisy, and boosted trees are better on most. Against one leaf,
/// the gain must be beyond the noise.
const LEAST_GAIN: f64 = 0.001;
/// How many milliseconds longer a decision of boosted trees takes than one of a single tree. What runs on the CPU waits for it;
/// a GPU works meanwhile. Measured on matrix products of the CPU: 650 instead of 50 ns.
const DECISION_MS: f64 = 0.0006;

/// Folds are judged until they hold out this many inputs: boosted trees take eight times as long to learn as one tree.
const ENOUGH: usize = 2000;

/// Returns boosted trees if they lose enough less than the best single tree on the folds, else that tree.
///
/// # Errors
/// Those of the learners.
pub fn better_of(
    task: &Task,
    plan: &TrainPlan,
    boost: &Boost,
    single: &ScoredConfiguration,
    (columns, folds, costs): (&Columns, &[Partition], &Targets),
) -> Result<ScoredConfiguration, TrainError> {
    let boosted = match &plan.evidence_tree {
        Some(tree) => Configuration::Boosted { tree: tree.clone(), boost: boost.clone() },
        None => single.configuration.boosted(boost.clone()),
    };
    let judging = folds.len().min(ENOUGH.div_ceil(folds[0].held_out.len().max(1)));
    let folds: Vec<_> = folds.iter().zip(&single.folds).take(judging).collect();
    let judge = |(Partition { training, held_out }, (tree, _)): &(&Partition, &(GrownTree, Vec<f64>))| {
        let rows = Rows { columns, inputs: training };
        let fitted = match (&plan.evidence_tree, &single.configuration) {
            (None, Configuration::CostTree(_)) => boost.fit(tree.clone(), &rows, costs),
            _ => boosted.fit(&rows, costs)?,
        };
        let cost = |&input: &u32| {
            let mut cost = f64::from(fitted.cost(columns, costs, input)) / COST_ONE;
            if let Some(Device::Cpu(_)) = task.device() {
                cost += (DECISION_MS / task.table.inputs[input as usize].best).ln_1p();
            }
            cost
        };
        let boosted = held_out.iter().map(cost).collect::<Vec<f64>>();
        Ok((fitted.tree, boosted))
    };
    let boosted_folds = folds.par_iter().map(judge).collect::<Result<Vec<_>, TrainError>>()?;
    let held_out = folds.iter().flat_map(|(fold, _)| &fold.held_out);
    let weights: Vec<f64> = held_out.map(|&input| f64::from(costs.weight(input))).collect();
    let total: f64 = weights.iter().sum();
    let alone = folds.iter().flat_map(|(_, (_, costs))| costs);
    let together = boosted_folds.iter().flat_map(|(_, costs)| costs);
    let saved: Vec<f64> = alone.zip(together).map(|(alone, together)| alone - together).collect();
    let mean = saved.iter().zip(&weights).map(|(saved, w)| w * saved).sum::<f64>() / total;
    let squares: f64 = saved.iter().zip(&weights).map(|(saved, w)| (w * (saved - mean)).powi(2)).sum();
    let error = squares.sqrt() / total;
    let is_leaf = single.configuration.max_depth() == 0;
    let errors = if is_leaf { -BEYOND_NOISE } else { 1.0 };
    if mean + errors * error <= LEAST_GAIN && plan.learner != LearnerKind::Boosted {
        return Ok(single.clone());
    }
    let cost = single.cost - mean;
    Ok(ScoredConfiguration { configuration: boosted, cost, error, folds: boosted_folds })
}
