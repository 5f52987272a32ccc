//! The search: which configuration loses least on held-out folds of the training part.
//!
//! A [`Configuration`] is a learner with its parameters, a [`grid`] the list of those to try;
//! [`cross_validation`] judges them, and [`boosting`] weighs boosted trees against the best. [`portfolio`] is the search
//! for the choices to keep.

pub mod boosting;
pub mod configuration;
pub mod cross_validation;
pub mod derived;
pub mod grid;
pub mod portfolio;

use ah_types::LearnerKind;

use crate::data::Dataset;
use crate::data::usable::too_few;
use crate::data::{Columns, split};
use crate::error::TrainError;
use crate::params::SplitBy;
use crate::plan::{LARGE, TrainPlan};

pub use configuration::Configuration;
pub use cross_validation::ScoredConfiguration;
pub use portfolio::Portfolio;

/// The configurations that were tried.
pub struct SearchResult {
    /// The one to learn with.
    pub best: ScoredConfiguration,
    /// The one to compare with it under the promise: boosted trees where the best is a single one, and that one where the
    /// best are boosted.
    pub rival: Option<ScoredConfiguration>,
    /// All of them.
    pub tried: Vec<ScoredConfiguration>,
}

/// Cross-validates the configurations of the plan within `training`.
///
/// Learns from the plain costs and judges by them, also where the heuristic gives a promise. With the promise's penalty
/// the search prefers a tree that always takes the fallback (mm H200).
///
/// # Errors
/// Those of the learners.
pub fn search(
    dataset: &Dataset,
    plan: &TrainPlan,
    columns: &Columns,
    training: &[u32],
) -> Result<SearchResult, TrainError> {
    let mut grid = grid::Grid::new(plan.learner, &plan.max_depths, &plan.min_samples_leaves);
    let costs = dataset.costs();
    let keys = dataset.keys(SplitBy::Input, training);
    let mut folds = split::partitions(&dataset.table, training, &keys, plan.folds, plan.seed);
    if plan.boost.is_some() && training.len() >= LARGE {
        folds.truncate(1);
        grid.growths.truncate(1);
    }
    let tried = cross_validation::cross_validate(&grid, columns, &folds, &costs)?;
    let single = cross_validation::best(&tried).ok_or_else(|| too_few(dataset.usable.len()))?;
    let (best, rival) = match &plan.boost {
        Some(boost) => {
            let [best, rival] = boosting::better_of(dataset, plan, boost, single, (columns, &folds, &costs))?;
            (best, Some(rival))
        }
        None => (single.clone(), None),
    };
    // Both are learned to be compared: on a large log that takes too long, and there boosted trees are better.
    let has_rival = plan.max_risk.is_some() && plan.learner == LearnerKind::Auto && training.len() < LARGE;
    let rival = rival.filter(|_| has_rival && single.configuration.max_depth() > 0);
    Ok(SearchResult { best, rival, tried })
}
