//! The search: which configuration loses least on held-out folds of the training part.
//!
//! A [`Configuration`] is a learner with its parameters; [`cross_validation`] judges a grid of them. [`portfolio`] is the search for the choices to keep. The size of the model, boosted
//! trees included, is chosen under the promise ([`crate::promise::ladder`]).

pub mod configuration;
pub mod cross_validation;
pub mod derived;
pub mod features;
pub mod neighbours;
pub mod portfolio;

use crate::data::Dataset;
use crate::plan::{LARGE, TrainPlan};

pub use configuration::Configuration;
pub use cross_validation::Fold;
pub use portfolio::Portfolio;

/// Cross-validates the configurations of the plan on these folds of `inputs` inputs. Returns the one to learn with.
///
/// Learns from the plain costs and judges by them, also where the heuristic gives a promise. With the promise's penalty
/// the search prefers a tree that always takes the fallback (mm H200).
pub fn search(dataset: &Dataset, plan: &TrainPlan, mut folds: Vec<Fold<'_>>, inputs: usize) -> Configuration {
    let mut grid = cross_validation::Grid::new(plan.learner, &plan.max_depths, &plan.min_samples_leaves);
    if plan.boost.is_some() && inputs >= LARGE {
        folds.truncate(1);
        grid.growths.truncate(1);
    }
    let tried = cross_validation::cross_validate(&grid, &folds, &dataset.costs());
    cross_validation::best(&tried).configuration.clone()
}
