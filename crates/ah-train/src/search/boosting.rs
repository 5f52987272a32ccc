//! Whether boosted trees take the place of a single one.

use ah_types::{Device, LearnerKind};
use rayon::prelude::*;

use super::configuration::Configuration;
use super::cross_validation::{BEYOND_NOISE, ScoredConfiguration};
use crate::data::split::Partition;
use crate::data::{COST_ONE, Columns, Costs, Dataset, Subset};
use crate::error::TrainError;
use crate::learners::Boost;
use crate::plan::TrainPlan;
use crate::tree::GrownTree;

/// Boosted trees are many times as large as others. They must lose this much less in log slowdown, or that must at least
/// be within a standard error: on small logs the folds are noisy, and boosted trees are better on most. Against one leaf,
/// the gain must be beyond the noise.
pub const LEAST_GAIN: f64 = 0.001;
/// How many milliseconds longer a decision of boosted trees takes than one of a single tree. What runs on the CPU waits for it;
/// a GPU works meanwhile. Measured on matrix products of the CPU: 650 instead of 50 ns.
const DECISION_MS: f64 = 0.0006;

/// Folds are judged until they hold out this many inputs. With 2000, pad_mm A100 (1245 inputs a fold) keeps one tree with
/// seed 1 and loses 1.0032; with 4000 it takes boosted trees, as with all folds, and loses 1.0026.
const ENOUGH: usize = 4000;

/// Returns the cost of the longer decision of boosted trees on an input.
pub fn decision_cost(dataset: &Dataset, input: u32) -> f64 {
    match dataset.device() {
        Some(Device::Cpu(_)) => {
            let best = dataset.table.inputs[input as usize].best;
            dataset.table.pricing.cost(best + DECISION_MS, best)
        }
        _ => 0.0,
    }
}

/// Returns boosted trees and the best single tree, the better one first: boosted trees must lose enough less on the folds.
///
/// # Errors
/// Those of the learners.
pub fn better_of(
    dataset: &Dataset,
    plan: &TrainPlan,
    boost: &Boost,
    single: &ScoredConfiguration,
    (columns, folds, costs): (&Columns, &[Partition], &Costs),
) -> Result<[ScoredConfiguration; 2], TrainError> {
    let boosted = match &plan.evidence_tree {
        Some(tree) => Configuration::Boosted { tree: tree.clone(), boost: boost.clone() },
        None => single.configuration.boosted(boost.clone()),
    };
    let judging = folds.len().min(ENOUGH.div_ceil(folds[0].held_out.len().max(1)));
    let folds: Vec<_> = folds.iter().zip(&single.folds).take(judging).collect();
    let judge = |(Partition { training, held_out }, (tree, _)): &(&Partition, &(GrownTree, Vec<f64>))| {
        let rows = Subset { columns, inputs: training };
        let fitted = match (&plan.evidence_tree, &single.configuration) {
            (None, Configuration::CostTree(_)) => boost.fit(tree.clone(), &rows, costs),
            _ => boosted.fit(&rows, costs)?,
        };
        let cost = |&input: &u32| {
            f64::from(fitted.cost(columns, costs, input)) / COST_ONE + decision_cost(dataset, input)
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
    let cost = single.cost - mean;
    let boosted = ScoredConfiguration { configuration: boosted, cost, error, folds: boosted_folds };
    let is_better = mean + errors * error > LEAST_GAIN || plan.learner == LearnerKind::Boosted;
    Ok(if is_better { [boosted, single.clone()] } else { [single.clone(), boosted] })
}
