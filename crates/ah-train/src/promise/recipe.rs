//! Learning a heuristic, with or without a promise.

use ah_types::{BoostedTrees, ChoiceId, Model, OutsidePolicy, Promise, Tree};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::calibrate::{self, CONFIDENCE, CalibratedThreshold};
use super::caution::{self, Taken};
use crate::data::split::{self, Partition};
use crate::data::{Columns, RankedFeatures, Rows, Targets, Task};
use crate::error::TrainError;
use crate::params::SplitBy;
use crate::plan::TrainPlan;
use crate::search::{Configuration, fit_all};
use crate::tree::FittedTrees;
use crate::tree::leaves::{self, RankingPolicy};
use crate::tree::prune::prune;

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
    /// One for each tree.
    pub configurations: &'a [Configuration],
    /// The most leaves of a tree.
    pub max_leaves: Option<usize>,
    /// The choices that a leaf ranks.
    pub ranking: &'a RankingPolicy,
}

/// A learned heuristic.
pub struct Heuristic {
    /// The trees.
    pub trees: FittedTrees,
    /// The inputs that grew them.
    pub grown_from: Vec<u32>,
    /// The fallback.
    pub fallback: ChoiceId,
    /// Choices up to this price (`tree::price`) are allowed.
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
        let trees = self.fit(&rows, &targets)?;
        let grown_from = inputs.to_vec();
        Ok(Heuristic { trees, grown_from, fallback, threshold: f64::INFINITY, promise: None })
    }

    /// Learns, and calibrates on inputs that grew none of the trees that judge them.
    fn learn_with_promise(&self, inputs: &[u32], target: f64) -> Result<Heuristic, TrainError> {
        let (task, columns) = (self.task, &self.features.columns);
        let (mode, limit) = (self.params.promise, self.params.max_slowdown);
        let fallback = task.fallback(inputs);
        // Boosted trees need no penalty: they are allowed by what they save, not by the risk of a leaf.
        let targets = task.targets_within(
            fallback,
            &self.ranking.portfolio,
            Some(limit).filter(|_| !self.is_boosted()),
        );
        let parts = self.calibration_parts(inputs);
        let fit = |inputs: &[u32]| -> Result<FittedTrees, TrainError> {
            let rows = Rows { columns, inputs };
            let mut trees = self.fit(&rows, &targets)?;
            trees.assess(&task.table, &rows, fallback, limit);
            Ok(trees)
        };
        let fit_part = |part: &Partition| -> Result<_, TrainError> {
            let (table, fitted) = (&task.table, fit(&part.training)?);
            let taken = if self.is_boosted() {
                caution::taken(&fitted, columns, table, &targets, &part.held_out, fallback, limit)
            } else {
                Vec::new()
            };
            Ok((fitted, taken))
        };
        let fit_parts = || parts.par_iter().map(fit_part).collect::<Result<Vec<_>, TrainError>>();
        let (trees, fitted) = rayon::join(|| fit(inputs), fit_parts);
        let mut trees = trees?;
        let (fitted, taken): (Vec<FittedTrees>, Vec<Vec<Taken>>) = fitted?.into_iter().unzip();
        // The inputs that calibrate must not have taught the trees that they judge.
        learn_cautions(&mut trees, columns, taken.iter().flatten());
        let judge = |(at, mut fitted): (usize, FittedTrees)| {
            let others = taken.iter().enumerate().filter(|(other, _)| *other != at);
            learn_cautions(&mut fitted, columns, others.flat_map(|(_, taken)| taken));
            let (table, inputs) = (&task.table, &parts[at].held_out);
            calibrate::violations(&fitted, columns, table, &targets, inputs, fallback, limit)
        };
        let violations: Vec<_> = fitted.into_par_iter().enumerate().map(judge).collect();
        let judged: Vec<u32> = parts.iter().flat_map(|part| &part.held_out).copied().collect();
        let independent = task.count_judging(&judged);
        let calibrated = calibrate::walk(&violations.concat(), judged.len(), independent, mode, target);
        Ok(Heuristic {
            trees,
            grown_from: inputs.to_vec(),
            fallback,
            threshold: self.threshold(calibrated.as_ref(), target),
            promise: calibrated
                .map(|calibrated| promise(self.task, self.params, &calibrated, inputs, target)),
        })
    }

    /// Returns what to do outside of a leaf's ranges: as asked, else a safe pick where the ranges mean something. In
    /// leaves of few inputs they do not: on the 232 inputs of mm HF, safe picks lose 0.0013 ± 0.0005 more. Boosted
    /// trees have no scores for it.
    pub fn outside(&self) -> OutsidePolicy {
        const FEWEST: usize = 500;
        let decides = self.task.usable.len() < FEWEST || self.is_boosted();
        self.params.outside.unwrap_or(if decides { OutsidePolicy::Decide } else { OutsidePolicy::Safe })
    }

    fn is_boosted(&self) -> bool {
        matches!(self.configurations, [Configuration::Boosted { .. }])
    }

    /// Returns the greatest price of a choice that is allowed. Without a promise, a choice that saves as much as the
    /// limit lets it lose may be too slow on the target share of inputs.
    pub fn threshold(&self, calibrated: Option<&CalibratedThreshold>, target: f64) -> f64 {
        calibrated.map_or(target / self.params.max_slowdown.ln(), |c| c.threshold)
    }

    pub(super) fn fit(&self, rows: &Rows<'_>, targets: &Targets) -> Result<FittedTrees, TrainError> {
        let mut trees = fit_all(self.configurations, rows, targets)?;
        if let Some(most) = self.max_leaves {
            prune(&mut trees, rows, targets, most);
        }
        self.watch(&mut trees, rows, targets);
        Ok(trees)
    }

    /// Computes the scores outside the leaves' ranges, if they matter.
    pub(super) fn watch(&self, trees: &mut FittedTrees, rows: &Rows<'_>, targets: &Targets) {
        if self.outside() == OutsidePolicy::Safe {
            trees.watch(&self.task.table, rows, targets);
        }
    }

    /// Returns the partition of each calibration fit. Folds by input are the default, as the promise is for inputs drawn
    /// like these. Folds by dimensions, for new shapes, cost more (mm A100: 1.020 against 1.015).
    fn calibration_parts(&self, inputs: &[u32]) -> Vec<Partition> {
        let keys = self.task.keys(self.params.promise.held_out_together(), inputs);
        split::partitions(&self.task.table, inputs, &keys, FOLDS, self.params.seed)
    }

    /// Returns a model with the trees of this heuristic, always deciding.
    pub fn always_deciding(&self, heuristic: &Heuristic, model: Model) -> Model {
        let trees = self.trees(heuristic, f64::INFINITY);
        Model { trees, boosted: self.boosted(heuristic, f64::INFINITY), ..model }
    }

    /// Returns the boosted trees of a model; choices with a price above `threshold` are not allowed.
    pub fn boosted(&self, heuristic: &Heuristic, threshold: f64) -> Option<BoostedTrees> {
        let boosted = heuristic.trees.trees.first()?.boosted.as_ref()?;
        Some(boosted.in_model(&self.features.columns, threshold))
    }

    /// Returns the trees of a model; choices with a price above `threshold` are not allowed.
    pub fn trees(&self, heuristic: &Heuristic, threshold: f64) -> Vec<Tree> {
        let rows = Rows { columns: &self.features.columns, inputs: &heuristic.grown_from };
        let fallback = heuristic.fallback;
        leaves::trees(&heuristic.trees, &self.task.table, &rows, fallback, threshold, self.ranking)
    }
}

fn learn_cautions<'a>(trees: &mut FittedTrees, columns: &Columns, taken: impl Iterator<Item = &'a Taken>) {
    if let Some(boosted) = trees.trees.first_mut().and_then(|tree| tree.boosted.as_mut()) {
        caution::learn(boosted, columns, taken);
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
