//! Learning a heuristic, with or without a promise.

use ah_types::{ChoiceId, Model, Promise};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::calibrate::{self, CONFIDENCE, CalibratedThreshold};
use super::row_risks::{self, Taken};
use crate::data::split::{self, Partition};
use crate::data::{RankedFeatures, Rows, Targets, Task};
use crate::error::TrainError;
use crate::params::SplitBy;
use crate::plan::TrainPlan;
use crate::search::Configuration;
use crate::tree::leaves::{self, RankingPolicy};
use crate::tree::prune::prune;
use crate::tree::{FittedEnsemble, risk};

/// Folds of the calibration. The trees of a fold learn from fewer inputs than the trees that ship: with
/// 5 folds the promise of 1 % costs up to 1.0118 on pad_mm A100 (median 1.0064, 40 random
/// partitions), with 10 up to 1.0085 (1.0061), with 20 up to 1.0111 (1.0062).
const FOLDS: usize = 10;

/// What to learn, and how.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// The data.
    pub task: &'a Task,
    /// The features, as ranked from the inputs to learn from.
    pub features: &'a RankedFeatures,
    /// All settings.
    pub params: &'a TrainPlan,
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
}

impl Recipe<'_> {
    /// Learns from these inputs, with a promise if the plan has one.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn learn(&self, inputs: &[u32]) -> Result<Heuristic, TrainError> {
        match self.params.max_risk {
            None => self.learn_without_promise(inputs),
            Some(target) => self.learn_with_promise(inputs, target),
        }
    }

    /// Learns a heuristic that always decides.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn learn_without_promise(&self, inputs: &[u32]) -> Result<Heuristic, TrainError> {
        let fallback = self.task.fallback(inputs);
        let targets = self.task.targets(&self.ranking.portfolio);
        let rows = Rows { columns: &self.features.columns, inputs };
        let fitted = self.fit(&rows, &targets)?;
        let fit_inputs = inputs.to_vec();
        Ok(Heuristic { fitted, fit_inputs, fallback, threshold: f64::INFINITY, promise: None })
    }

    /// Learns, and calibrates on inputs that none of the ensembles that judge them was learned from.
    fn learn_with_promise(&self, inputs: &[u32], target: f64) -> Result<Heuristic, TrainError> {
        let (task, columns) = (self.task, &self.features.columns);
        let (mode, limit) = (self.params.promise, self.params.max_slowdown);
        let fallback = task.fallback(inputs);
        // With boosters, choices need no penalty: they are allowed by what they save, not by the risk of a leaf.
        let targets = task.targets_within(
            fallback,
            &self.ranking.portfolio,
            Some(limit).filter(|_| !self.is_boosted()),
        );
        let parts = self.calibration_parts(inputs);
        let fit = |inputs: &[u32]| -> Result<FittedEnsemble, TrainError> {
            let rows = Rows { columns, inputs };
            let mut fitted = self.fit(&rows, &targets)?;
            fitted.assess(&task.table, &rows, fallback, limit);
            Ok(fitted)
        };
        let fit_part = |part: &Partition| -> Result<_, TrainError> {
            let (table, fitted) = (&task.table, fit(&part.training)?);
            let taken = if self.is_boosted() {
                row_risks::taken(&fitted, columns, table, &targets, &part.held_out, fallback, limit)
            } else {
                Vec::new()
            };
            Ok((fitted, taken))
        };
        let fit_parts = || parts.par_iter().map(fit_part).collect::<Result<Vec<_>, TrainError>>();
        let (whole, of_parts) = rayon::join(|| fit(inputs), fit_parts);
        let mut whole = whole?;
        let (of_parts, taken): (Vec<FittedEnsemble>, Vec<Vec<Taken>>) = of_parts?.into_iter().unzip();
        // The inputs that calibrate must not have taught the ensembles that they judge.
        row_risks::learn(&mut whole.boosters, columns, taken.iter().flatten());
        let judge = |(at, mut fitted): (usize, FittedEnsemble)| {
            let others = taken.iter().enumerate().filter(|(other, _)| *other != at);
            row_risks::learn(&mut fitted.boosters, columns, others.flat_map(|(_, taken)| taken));
            let (table, inputs) = (&task.table, &parts[at].held_out);
            calibrate::violations(&fitted, columns, table, &targets, inputs, fallback, limit)
        };
        let violations: Vec<_> = of_parts.into_par_iter().enumerate().map(judge).collect();
        let judged: Vec<u32> = parts.iter().flat_map(|part| &part.held_out).copied().collect();
        let independent = task.count_judging(&judged);
        let calibrated =
            calibrate::fixed_sequence_test(&violations.concat(), judged.len(), independent, mode, target);
        Ok(Heuristic {
            fitted: whole,
            fit_inputs: inputs.to_vec(),
            fallback,
            threshold: self.threshold(calibrated.as_ref(), target),
            promise: calibrated
                .map(|calibrated| promise(self.task, self.params, &calibrated, inputs, target)),
        })
    }

    fn is_boosted(&self) -> bool {
        matches!(self.configuration, Configuration::Boosted { .. })
    }

    /// Returns the greatest risk ratio of a choice that is allowed. Without a promise, a choice that saves as much as the
    /// limit lets it lose may be too slow on the target share of inputs.
    pub fn threshold(&self, calibrated: Option<&CalibratedThreshold>, target: f64) -> f64 {
        calibrated.map_or(target / self.params.max_slowdown.ln(), |c| c.threshold)
    }

    pub(super) fn fit(&self, rows: &Rows<'_>, targets: &Targets) -> Result<FittedEnsemble, TrainError> {
        let fitted = self.configuration.fit(rows, targets)?;
        Ok(match self.max_leaves {
            Some(most) => prune(&fitted, rows, targets, most),
            None => fitted,
        })
    }

    /// Returns the partition of each calibration fit. Folds by input are the default, as the promise is for inputs drawn
    /// like these. Folds by dimensions, for new shapes, cost more (mm A100: 1.020 against 1.015).
    fn calibration_parts(&self, inputs: &[u32]) -> Vec<Partition> {
        let keys = self.task.keys(self.params.promise.held_out_together(), inputs);
        split::partitions(&self.task.table, inputs, &keys, FOLDS, self.params.seed)
    }

    /// Returns a model with the trees of this heuristic, always deciding.
    pub fn always_deciding(&self, heuristic: &Heuristic, model: Model) -> Model {
        self.with_trees(heuristic, f64::INFINITY, model)
    }

    /// Returns a model with the trees of this heuristic; choices with a risk ratio above `threshold` are not allowed.
    pub fn with_trees(&self, heuristic: &Heuristic, threshold: f64, model: Model) -> Model {
        let Heuristic { fitted, fit_inputs, fallback, .. } = heuristic;
        let columns = &self.features.columns;
        let rows = Rows { columns, inputs: fit_inputs };
        Model {
            tree: leaves::tree(fitted, &self.task.table, &rows, *fallback, threshold, self.ranking),
            boosters: fitted.boosters.in_model(columns),
            unit: fitted.boosters.unit,
            margin: risk::margin(threshold).filter(|_| fitted.is_boosted()),
            ..model
        }
    }
}

/// Returns the promise of a threshold that was calibrated on these inputs.
pub fn promise(
    task: &Task,
    params: &TrainPlan,
    calibrated: &CalibratedThreshold,
    inputs: &[u32],
    target: f64,
) -> Promise {
    let mode = params.promise;
    let (tested, level) = mode.test(target);
    let shapes: FxHashSet<String> = task.keys(SplitBy::Dims, inputs).into_iter().collect();
    Promise {
        target,
        confidence: CONFIDENCE,
        limit: params.max_slowdown,
        mode: mode.calibration(),
        tested,
        level,
        inputs: calibrated.inputs as u64,
        groups: shapes.len() as u64,
        violations: calibrated.violations as u64,
        clear: calibrated.clear as u64,
        runs: u64::from(median_runs(task, inputs)),
        threshold: Some(calibrated.threshold).filter(|t| t.is_finite()),
    }
}

/// Returns the median number of measurements of a cell.
fn median_runs(task: &Task, inputs: &[u32]) -> u32 {
    let cells = inputs.iter().flat_map(|&i| task.table.cells(i));
    let mut runs: Vec<u32> = cells.filter(|c| c.time.is_finite()).map(|c| c.samples).collect();
    let middle = runs.len() / 2;
    if runs.is_empty() { 0 } else { *runs.select_nth_unstable(middle).1 }
}
