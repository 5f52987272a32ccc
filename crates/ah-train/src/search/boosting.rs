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

/// Boosted trees are many times as large as others. They must lose this much less in log slowdown, or that must at least
/// be within a standard error: on small logs the folds are noisy, and boosted trees are better on most. Against one leaf,
/// the gain must be beyond the noise.
const LEAST_GAIN: f64 = 0.001;
/// How many milliseconds longer a decision of boosted trees takes than one of a single tree. What runs on the CPU waits for it;
/// a GPU works meanwhile. Measured on matrix products of the CPU: 650 instead of 50 ns.
const DECISION_MS: f64 = 0.0006;

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
    let judged: Vec<u32> = folds.iter().flat_map(|fold| &fold.held_out).copied().collect();
    let mut together = held_out_costs(&boosted, columns, folds, costs)?;
    if let Some(Device::Cpu(_)) = task.device() {
        for (cost, input) in together.iter_mut().zip(&judged) {
            *cost += (DECISION_MS / task.table.inputs[*input as usize].best).ln_1p();
        }
    }
    let weights: Vec<f64> = judged.iter().map(|&input| f64::from(costs.weight(input))).collect();
    let total: f64 = weights.iter().sum();
    let saved = || single.held_out.iter().zip(&together).map(|(alone, together)| alone - together).zip(&weights);
    let mean = saved().map(|(saved, weight)| weight * saved).sum::<f64>() / total;
    let error = saved().map(|(saved, weight)| (weight * (saved - mean)).powi(2)).sum::<f64>().sqrt() / total;
    let is_leaf = single.configuration.max_depth() == 0;
    let errors = if is_leaf { -BEYOND_NOISE } else { 1.0 };
    if mean + errors * error <= LEAST_GAIN && plan.learner != LearnerKind::Boosted {
        return Ok(single.clone());
    }
    let cost = together.iter().zip(&weights).map(|(cost, weight)| cost * weight).sum::<f64>() / total;
    Ok(ScoredConfiguration { configuration: boosted, cost, error, held_out: together })
}

/// Returns the log slowdown of a configuration on each held-out input of these folds.
fn held_out_costs(
    configuration: &Configuration,
    columns: &Columns,
    folds: &[Partition],
    costs: &Targets,
) -> Result<Vec<f64>, TrainError> {
    let of_fold = |Partition { training, held_out }: &Partition| {
        let fitted = configuration.fit(&Rows { columns, inputs: training }, costs)?;
        let cost = |&input: &u32| f64::from(fitted.cost(columns, costs, input)) / COST_ONE;
        Ok(held_out.iter().map(cost).collect::<Vec<f64>>())
    };
    Ok(folds.par_iter().map(of_fold).collect::<Result<Vec<_>, TrainError>>()?.concat())
}
