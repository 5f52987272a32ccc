//! Learning from the new inputs alone, as `ah-train` does, always deciding.

use ah_types::Model;

use crate::data::Task;
use crate::error::TrainError;
use crate::model;
use crate::params::ValidParams;
use crate::promise::Recipe;
use crate::search::{self, ScoredConfiguration, cross_validation};
use crate::tree::RankingPolicy;

/// Learns from these inputs. Returns the model, without its record.
///
/// # Errors
/// Those of the learners.
pub fn learn(task: &Task, params: &ValidParams, inputs: &[u32]) -> Result<Model, TrainError> {
    let (params, policy) = (&params.always_deciding(), &task.optimization.training);
    let features = &task.ranked(inputs);
    let ranking = &RankingPolicy { eligible: task.eligible.clone(), ..RankingPolicy::default() };
    let searched = search::search(task, params, policy, &features.columns, &[], inputs)?;
    // Takes a tree even if one leaf is not clearly worse: the old scores, out of fold, already guard against noise. With
    // one leaf, 40 instead of 88 % of the gap is closed on the device of the tests.
    let is_tree = |scored: &ScoredConfiguration| scored.configuration.max_depth() > 0;
    let trees: Vec<ScoredConfiguration> = searched.tried.into_iter().filter(is_tree).collect();
    let best = if is_tree(&searched.best) { None } else { cross_validation::best(&trees) };
    let configurations = &[best.unwrap_or(&searched.best).configuration.clone()];
    let recipe = Recipe { task, features, params, policy, configurations, max_leaves: None, ranking };
    let heuristic = recipe.learn_without_promise(inputs)?;
    let mut model = model::model(&recipe, &heuristic, inputs)?;
    if task.undeclared {
        model::drop_unused(&mut model);
    }
    Ok(model)
}
