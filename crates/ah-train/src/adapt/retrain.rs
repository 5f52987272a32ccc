//! Learning from the new inputs alone, as `ah-train` does, always deciding.

use ah_types::Model;

use crate::data::Task;
use crate::error::TrainError;
use crate::model;
use crate::params::ValidParams;
use crate::plan::TrainPlan;
use crate::promise::Recipe;
use crate::search;
use crate::tree::RankingPolicy;

/// Learns from these inputs. Returns the model, without its record.
///
/// # Errors
/// Those of the learners.
pub fn learn(task: &Task, params: &ValidParams, inputs: &[u32]) -> Result<Model, TrainError> {
    let params = &TrainPlan::resolve(params, task, inputs)?.always_deciding();
    let features = &task.ranked(inputs);
    let ranking = &RankingPolicy { eligible: task.eligible.clone(), ..RankingPolicy::default() };
    let searched = search::search(task, params, &features.columns, &[], inputs)?;
    let configuration = &searched.best.configuration;
    let recipe = Recipe { task, features, params, configuration, max_leaves: None, ranking };
    let heuristic = recipe.learn_without_promise(inputs)?;
    let mut model = model::model(&recipe, &heuristic);
    if task.undeclared {
        model::drop_unused(&mut model);
    }
    Ok(model)
}
