//! What to learn and how, and what comes of it: a heuristic, with or without a promise.

use ah_types::{ChoiceId, Model, Promise};
use rustc_hash::FxHashSet;

use super::calibrate::{CONFIDENCE, CalibratedThreshold};
use super::price::PromisePrice;
use crate::data::{Dataset, RankedFeatures, Subset};
use crate::overhead::ModelUse;
use crate::params::SplitBy;
use crate::plan::TrainPlan;
use crate::search::Configuration;
use crate::tree::leaves::{self, RankingPolicy};
use crate::tree::narrow::narrow;
use crate::tree::{FittedEnsemble, risk};

/// What to learn, and how.
#[derive(Clone, Copy)]
pub struct Trainer<'a> {
    /// The data.
    pub dataset: &'a Dataset,
    /// The features, as ranked from the inputs to learn from.
    pub features: &'a RankedFeatures,
    /// All settings.
    pub plan: &'a TrainPlan,
    /// The learner.
    pub configuration: &'a Configuration,
    /// The most leaves of a tree.
    pub max_leaves: Option<usize>,
    /// The choices that a leaf ranks.
    pub ranking: &'a RankingPolicy,
}

/// A learned heuristic.
pub struct Heuristic {
    /// The ensemble.
    pub fitted: FittedEnsemble,
    /// The inputs that it was learned from.
    pub fit_inputs: Vec<u32>,
    /// The fallback.
    pub fallback: ChoiceId,
    /// Choices up to this [risk ratio](risk) are allowed.
    pub threshold: f64,
    /// `None` if no promise is asked for, or none is possible.
    pub promise: Option<Promise>,
    /// What the promise costs; `None` if nothing was held out.
    pub price: Option<PromisePrice>,
    /// What a program needs to ask it.
    pub used: ModelUse,
}

impl Trainer<'_> {
    /// Returns whether boosted trees are learned beside the readable one.
    pub fn is_boosted(&self) -> bool {
        matches!(self.configuration, Configuration::Boosted { .. })
    }

    /// Returns the greatest risk ratio of a choice that is allowed. Without a promise, a choice that saves as much as the
    /// limit lets it lose may be too slow on the target share of inputs.
    pub fn threshold(&self, calibrated: Option<&CalibratedThreshold>, target: f64) -> f64 {
        calibrated.map_or(target / self.plan.max_slowdown.ln(), |c| c.threshold)
    }

    /// Returns a model with the trees of this heuristic, always deciding.
    pub fn always_deciding(&self, heuristic: &Heuristic, model: Model) -> Model {
        self.with_trees(heuristic, f64::INFINITY, model)
    }

    /// Returns a model with the trees of this heuristic; choices with a risk ratio above `threshold` are not allowed.
    pub fn with_trees(&self, heuristic: &Heuristic, threshold: f64, model: Model) -> Model {
        let Heuristic { fitted, fit_inputs, fallback, .. } = heuristic;
        let columns = &self.features.columns;
        let rows = Subset { columns, inputs: fit_inputs };
        let margin = risk::margin(threshold).filter(|_| fitted.is_boosted());
        let mut tree = leaves::tree(fitted, &self.dataset.table, &rows, *fallback, threshold, self.ranking);
        narrow(&mut tree, &self.features.categories);
        Model {
            tree,
            boosters: fitted.boosters.in_model(columns, margin.is_some()),
            unit: fitted.boosters.unit,
            margin,
            ..model
        }
    }
}

/// Returns the promise of a threshold that was calibrated on these inputs.
pub fn promise(
    dataset: &Dataset,
    plan: &TrainPlan,
    calibrated: &CalibratedThreshold,
    inputs: &[u32],
    target: f64,
) -> Promise {
    let mode = plan.promise;
    let (tested, level) = mode.test(target);
    let shapes: FxHashSet<String> = dataset.keys(SplitBy::Dims, inputs).into_iter().collect();
    Promise {
        target,
        confidence: CONFIDENCE,
        limit: plan.max_slowdown,
        mode: mode.calibration(),
        tested,
        level,
        inputs: calibrated.inputs as u64,
        groups: shapes.len() as u64,
        violations: calibrated.violations as u64,
        clear: calibrated.clear as u64,
        runs: u64::from(median_runs(dataset, inputs)),
        threshold: Some(calibrated.threshold).filter(|t| t.is_finite()),
    }
}

/// Returns the median number of measurements of a cell.
fn median_runs(dataset: &Dataset, inputs: &[u32]) -> u32 {
    let cells = inputs.iter().flat_map(|&i| dataset.table.cells(i));
    let mut runs: Vec<u32> = cells.filter(|c| c.time.is_finite()).map(|c| c.samples).collect();
    let middle = runs.len() / 2;
    if runs.is_empty() { 0 } else { *runs.select_nth_unstable(middle).1 }
}
