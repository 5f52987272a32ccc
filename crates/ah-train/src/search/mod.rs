//! The search: which learner parameters lose least on held-out folds of the training part.
//!
//! A [`Configuration`] is a learner with its parameters, a [`grid`] the list of those to try;
//! [`cross_validation`] prices them. [`portfolio`] is the search for the choices to keep.

pub mod configuration;
pub mod cross_validation;
pub mod derived;
pub mod grid;
pub mod portfolio;

use ah_types::{ChoiceId, Device, LearnerKind};

use crate::data::Task;
use crate::data::usable::too_few;
use crate::data::{Columns, split};
use crate::error::TrainError;
use crate::learners::{Boost, Preset, Soft};
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

/// Inputs from which on one fold judges boosted trees beside one preset.
const LARGE: usize = 20_000;
/// Boosted trees are many times as large as others. They must lose this much less in log slowdown, or that must at least
/// be within a standard error: on small logs the folds are noisy, and boosted trees are better on most. Against one leaf,
/// the gain must be beyond the noise.
const LEAST_GAIN: f64 = 0.001;
/// How many milliseconds longer a decision of boosted trees takes than one of a single tree. What runs on the CPU waits for it;
/// a GPU works meanwhile. Measured on matrix products of the CPU: 650 instead of 50 ns.
const DECISION_MS: f64 = 0.0006;

/// Returns the parameters of the tree beside the boosted ones of a large log. It only has the evidence, and nobody reads all
/// of it: with a depth of 8, a program that does not name its choices loses 28 % on the forward convolutions, because few
/// choices are usual in so large leaves; with 14 it loses 13 %, and with 16 and leaves of 5 inputs 9 %, but then a program
/// that names them loses 0.0003 to 0.0006 more.
fn evidence_tree(params: &ValidParams, inputs: usize) -> Soft {
    let depth = params.max_depth.unwrap_or(usize::MAX).min(14);
    let least = params.min_samples_leaf.map_or(10, |least| leaf_size(least, inputs));
    Soft::preset(Preset::LookAhead, depth, least)
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
    let is_empty = depths.is_empty();
    if task.undeclared && kind == LearnerKind::Auto {
        // One leaf: the best single choice.
        depths.push(0);
    }
    let width = columns.all().len();
    let mut grid = grid::Grid::new(kind, &criteria, &depths, &leaves, training.len(), width);
    let fallback = task.fallback(training);
    let limit = params.max_risk.share().map(|_| params.max_slowdown);
    let targets = task.targets_within(fallback, portfolio, limit);
    // Search by plain cost; leave the promise's penalty out. Where a choice is too slow the promise
    // declines anyway; with the penalty the search prefers a tree that always takes the fallback
    // (mm H200).
    let costs = task.targets(portfolio);
    if grid.growths.is_empty() || is_empty {
        return Err(TrainError::Expression {
            optimization: task.optimization.name.clone(),
            what: "training",
            reason: "expected at least one depth, leaf size and criterion to search, found none".to_owned(),
        });
    }
    let keys = task.keys(SplitBy::Input, training);
    let mut folds = split::partitions(&task.table, training, &keys, policy.folds(), params.seed);
    let may_be_boosted = params.excludes_boosting().is_none()
        && match kind {
            LearnerKind::Boosted => true,
            LearnerKind::Auto => policy.allows_boosting(),
            LearnerKind::Soft | LearnerKind::Linfa | LearnerKind::Regression => false,
        };
    if may_be_boosted && training.len() >= LARGE {
        folds.truncate(1);
        grid.growths.truncate(1);
    }
    let tried = cross_validation::cross_validate(&grid, columns, &folds, &targets, &costs)?;
    let mut best = cross_validation::best(&tried).ok_or_else(|| too_few(task.usable.len()))?.clone();
    if may_be_boosted {
        let most = params.max_depth.unwrap_or(usize::MAX).min(Boost::USUAL.max_depth);
        let boost = Boost { max_depth: most, ..Boost::USUAL };
        let boosted = match training.len() >= LARGE {
            true => Configuration::Boosted { tree: evidence_tree(params, training.len()), boost },
            false => best.configuration.boosted(boost),
        };
        let cost = |configuration: &Configuration| {
            cross_validation::costs_of(configuration, columns, &folds, &costs)
        };
        let alone = cost(&best.configuration)?;
        let mut together = cost(&boosted)?;
        if let Some(Device::Cpu(_)) = task.device() {
            let judged = folds.iter().flat_map(|fold| &fold.held_out);
            for (cost, input) in together.iter_mut().zip(judged) {
                *cost += (DECISION_MS / task.table.inputs[*input as usize].best).ln_1p();
            }
        }
        let count = together.len() as f64;
        let saved = || alone.iter().zip(&together).map(|(alone, together)| alone - together);
        let mean = saved().sum::<f64>() / count;
        let error = saved().map(|saved| (saved - mean).powi(2)).sum::<f64>().sqrt() / count;
        let is_leaf = best.configuration.max_depth() == 0;
        let errors = if is_leaf { -cross_validation::BEYOND_NOISE } else { 1.0 };
        if mean + errors * error > LEAST_GAIN || kind == LearnerKind::Boosted {
            let cost = together.iter().sum::<f64>() / count;
            best = ScoredConfiguration { configuration: boosted, cost, error };
        }
    }
    Ok(SearchResult { best, tried })
}
