//! Learning from the new inputs alone, as `ah-train` does, always deciding.

use ah_types::Model;

use crate::data::Dataset;
use crate::error::TrainError;
use crate::model;
use crate::params::ValidParams;
use crate::plan::TrainPlan;
use crate::promise::Trainer;
use crate::search;
use crate::tree::RankingPolicy;

/// Learns from these inputs. Returns the model, without its record.
///
/// # Errors
/// Those of the learners.
pub fn learn(dataset: &Dataset, params: &ValidParams, inputs: &[u32]) -> Result<Model, TrainError> {
    let plan = &TrainPlan::resolve(params, dataset, inputs)?.always_deciding();
    let features = &dataset.ranked(inputs);
    let ranking = &RankingPolicy { eligible: dataset.eligible.clone(), ..RankingPolicy::default() };
    let searched = search::search(dataset, plan, &features.columns, inputs)?;
    let configuration = &searched.best.configuration;
    let trainer = Trainer { dataset, features, plan, configuration, max_leaves: None, ranking };
    let heuristic = trainer.learn_without_promise(inputs)?;
    let mut model = model::model(&trainer, &heuristic);
    if dataset.ad_hoc {
        model::drop_unused(&mut model);
    }
    Ok(model)
}
