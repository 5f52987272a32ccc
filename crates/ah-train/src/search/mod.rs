//! The search: which learner parameters lose least on held-out folds of the training part.
//!
//! A [`Configuration`] is a learner with its parameters, a [`grid`] the list of those to try;
//! [`cross_validation`] prices them. [`portfolio`] is the search for the choices to keep.

pub mod configuration;
pub mod cross_validation;
pub mod derived;
pub mod grid;
pub mod portfolio;

use ah_types::{ChoiceId, LearnerKind};

use crate::data::Task;
use crate::data::usable::too_few;
use crate::data::{Columns, split};
use crate::error::TrainError;
use crate::params::{SplitBy, ValidParams};
use crate::policy::{Policy, leaf_size};

pub use configuration::{Configuration, fit_all};
pub use cross_validation::ScoredConfiguration;
pub use portfolio::Portfolio;

/// The configurations that were tried.
pub struct SearchResult {
    /// The one to learn with.
    pub best: ScoredConfiguration,
    /// All of them.
    pub tried: Vec<ScoredConfiguration>,
}

/// Cross-validates the configurations that the flags and the policy allow, within `training`, for the
/// choices of `portfolio` (empty: all).
///
/// # Errors
/// Those of the learners.
pub fn search(
    task: &Task,
    params: &ValidParams,
    policy: &dyn Policy,
    columns: &Columns,
    portfolio: &[ChoiceId],
    training: &[u32],
) -> Result<SearchResult, TrainError> {
    let kind = params.learner.or_else(|| policy.learner()).unwrap_or(LearnerKind::Auto);
    let mut depths = policy.max_depths();
    if let Some(limit) = params.max_depth {
        // It is a limit, not a demand: shallower trees are tried too.
        depths.retain(|d| *d < limit);
        depths.push(limit);
    }
    let leaves = match params.min_samples_leaf {
        Some(least) => vec![leaf_size(least, training.len())],
        None => policy.min_samples_leaves(training.len()),
    };
    let criteria = match params.criterion {
        Some(_) if kind != LearnerKind::Linfa => {
            return Err(TrainError::Parameter {
                flag: "--criterion",
                expected: "the learner linfa: other learners minimise the time lost".to_owned(),
                found: "another learner".to_owned(),
            });
        }
        Some(criterion) => vec![criterion],
        None => policy.criteria(),
    };
    let width = columns.all().len();
    let grid = grid::Grid::new(kind, &criteria, &depths, &leaves, training.len(), width);
    let fallback = task.fallback(training);
    let limit = params.max_risk.map(|_| params.max_slowdown);
    let targets = task.targets_within(fallback, portfolio, limit);
    // Search by plain cost; leave the promise's penalty out. Where a choice is too slow the promise
    // declines anyway; with the penalty the search prefers a tree that always takes the fallback
    // (mm H200).
    let costs = task.targets(fallback, portfolio);
    if grid.growths.is_empty() || grid.depths.is_empty() {
        return Err(TrainError::Expression {
            optimization: task.optimization.name.clone(),
            what: "training",
            reason: "expected at least one depth, leaf size and criterion to search, found none".to_owned(),
        });
    }
    let keys = task.keys(SplitBy::Input, training);
    let folds = split::partitions(&task.table, training, &keys, policy.folds(), params.seed);
    let tried = cross_validation::cross_validate(&grid, columns, &folds, &targets, &costs)?;
    let best = cross_validation::best(&tried).ok_or_else(|| too_few(task.usable.len()))?.clone();
    Ok(SearchResult { best, tried })
}
