//! The search: the learner, the derived features, the features that are worth their time, and the choices to keep.
//!
//! The size of the model, boosted trees included, is chosen under the promise ([`crate::promise::ladder`]).

pub mod configuration;
pub mod cross_validation;
pub mod dependence;
pub mod derived;
pub mod features;
pub mod portfolio;

use crate::data::{Costs, Dataset};
use crate::learners::Boosting;
use crate::plan::TrainPlan;

use cross_validation::{BEYOND_NOISE, cross_validate, difference};

pub use configuration::Configuration;
pub use cross_validation::Fold;
pub use portfolio::Portfolio;

/// The configuration to learn with: the plan's, or one leaf where features that nobody declared explain no more than noise
/// would.
///
/// Learns from the plain costs and judges by them, also where the heuristic gives a promise. With the promise's penalty
/// the search prefers a tree that always takes the fallback (mm H200).
pub fn search(dataset: &Dataset, plan: &TrainPlan, folds: &[Fold<'_>]) -> Configuration {
    let tree = Configuration::new(plan);
    if !dataset.ad_hoc || plan.learner.row().boosting != Boosting::WhereItPays {
        return tree;
    }
    let leaf = Configuration::of((plan.learner.row().new)(0, plan.min_samples_leaf));
    let costs = Costs::new(&dataset.table, None);
    let held_out: Vec<u32> = folds.iter().flat_map(|fold| &fold.part.held_out).copied().collect();
    let weights: Vec<f64> = held_out.iter().map(|&input| f64::from(costs.weight(input))).collect();
    let [of_leaf, of_tree] = [&leaf, &tree].map(|configuration| -> Vec<f64> {
        cross_validate(&*configuration.learner, folds, &costs)
            .into_iter()
            .flat_map(|(_, costs)| costs)
            .collect()
    });
    let (saved, error) = difference(&of_leaf, &of_tree, &weights, dataset.group_of(&held_out).as_deref());
    if saved > BEYOND_NOISE * error { tree } else { leaf }
}
