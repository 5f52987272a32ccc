//! `--max-leaves` and `--within`: smaller trees.
//!
//! With `--within`, sizes compete on folds inside the training part. The tree of each fold is pruned to each size and
//! judged on the inputs that it was not learned from; inputs of the test part have no say. With a promise, each size
//! is judged with the threshold that it would get: a small tree may lose little if it always decides, and decline nearly
//! everywhere (pad_mm H200 with 3 leaves: 0.9 % and 81 %).

use ah_types::ChoiceId;
use rayon::prelude::*;

use super::calibrate::{self, pick};
use super::trainer::Trainer;
use crate::data::split::{self, Partition};
use crate::data::{COST_ONE, Costs, Subset};
use crate::error::TrainError;
use crate::params::SplitBy;
use crate::tree::FittedEnsemble;
use crate::tree::prune::PruningOrder;

/// Sizes that are tried grow by this factor.
const STEP: f64 = 1.2;

/// What a number of leaves costs.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The most leaves of a tree; `None`: whole trees.
    pub most: Option<usize>,
    /// The mean log slowdown on the inputs that folds hold out.
    pub cost: f64,
}

/// The tree of a fold, whole, and how to prune it.
struct Fold<'a> {
    part: &'a Partition,
    whole: FittedEnsemble,
    order: PruningOrder,
}

/// Returns the size that the parameters ask for: at most `--max-leaves`, or as few leaves as lose at most `--within` (a
/// share of the time) more than the best number. `None`: they ask for none.
///
/// # Errors
/// Those of the learners.
pub fn choose(trainer: &Trainer<'_>, inputs: &[u32]) -> Result<Option<Size>, TrainError> {
    let plan = trainer.plan;
    if plan.max_leaves.is_none() && plan.within.is_none() {
        return Ok(None);
    }
    let judge = SizeJudge::new(trainer, inputs);
    let keys = trainer.dataset.keys(SplitBy::Input, inputs);
    let parts = split::partitions(&trainer.dataset.table, inputs, &keys, plan.folds, plan.seed);
    let folds = parts.par_iter().map(|part| judge.fold(part)).collect::<Result<Vec<_>, TrainError>>()?;
    if let Some(most) = plan.max_leaves {
        return Ok(Some(Size { most: Some(most), cost: judge.cost(&folds, most) }));
    }
    let whole = folds.iter().map(|fold| fold.whole.tree.leaves()).max().unwrap_or(1);
    let sizes = sizes(whole);
    let costs: Vec<f64> = sizes.par_iter().map(|size| judge.cost(&folds, *size)).collect();
    let best = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let enough = best + plan.within.unwrap_or(0.0).ln_1p();
    let at = costs.iter().position(|cost| *cost <= enough).unwrap_or(sizes.len() - 1);
    Ok(Some(Size { most: Some(sizes[at]).filter(|size| *size < whole), cost: costs[at] }))
}

/// Returns the sizes to try, ascending, up to `whole`.
fn sizes(whole: usize) -> Vec<usize> {
    let next = |size: &usize| Some(((*size as f64 * STEP) as usize).max(size + 1));
    std::iter::successors(Some(1), next).take_while(|size| *size < whole).chain([whole]).collect()
}

struct SizeJudge<'a> {
    trainer: &'a Trainer<'a>,
    fallback: ChoiceId,
    /// What trees learn from, and what they cost.
    targets: Costs,
    costs: Costs,
}

impl<'a> SizeJudge<'a> {
    fn new(trainer: &'a Trainer<'a>, inputs: &[u32]) -> Self {
        let (dataset, plan) = (trainer.dataset, trainer.plan);
        let fallback = dataset.fallback(inputs);
        let limit = plan.max_risk.map(|_| plan.max_slowdown);
        let targets = dataset.costs_within(fallback, limit);
        Self { trainer, fallback, targets, costs: dataset.costs() }
    }

    fn fold<'f>(&self, part: &'f Partition) -> Result<Fold<'f>, TrainError> {
        let rows = Subset { columns: &self.trainer.features.columns, inputs: &part.training };
        let whole = self.trainer.fit(&rows, &self.targets)?;
        let order = PruningOrder::new(&whole, &rows, &self.targets);
        Ok(Fold { part, whole, order })
    }

    /// Returns the fold's tree with at most this many leaves.
    fn pruned(&self, fold: &Fold<'_>, most: usize) -> FittedEnsemble {
        let Trainer { dataset, features, plan, .. } = self.trainer;
        let rows = Subset { columns: &features.columns, inputs: &fold.part.training };
        let mut pruned = fold.order.at_most(&fold.whole, most);
        if plan.max_risk.is_some() {
            pruned.assess(&dataset.table, &rows, self.fallback, plan.max_slowdown);
        }
        pruned
    }

    /// Returns the mean cost of trees with at most this many leaves on the inputs that the folds hold out.
    fn cost(&self, folds: &[Fold<'_>], most: usize) -> f64 {
        let Trainer { dataset, features, plan, .. } = self.trainer;
        let (columns, table, limit) = (&features.columns, &dataset.table, plan.max_slowdown);
        let pruned: Vec<(FittedEnsemble, &[u32])> =
            folds.iter().map(|fold| (self.pruned(fold, most), &fold.part.held_out[..])).collect();
        let threshold = plan.max_risk.map_or(f64::INFINITY, |target| {
            let of_fold = |(tree, held_out): &(FittedEnsemble, &[u32])| {
                calibrate::violations(tree, columns, table, &self.targets, held_out, self.fallback, limit)
            };
            let violations: Vec<_> = pruned.iter().flat_map(of_fold).collect();
            let judged: Vec<u32> = pruned.iter().flat_map(|(_, held_out)| *held_out).copied().collect();
            let (count, independent) = (judged.len(), dataset.count_judging(&judged));
            let calibrated =
                calibrate::fixed_sequence_test(&violations, count, independent, plan.promise, target);
            self.trainer.threshold(calibrated.as_ref(), target)
        });
        let (mut sum, mut weights) = (0.0, 0.0);
        let mut ranking = Vec::new();
        for (tree, held_out) in &pruned {
            for &input in *held_out {
                tree.rank(columns, &self.costs, input, &mut ranking);
                let cost = match pick(&ranking, self.fallback, threshold) {
                    Some(picked) => f64::from(picked.cost) / COST_ONE,
                    None => table.fallback_loss(input, self.fallback),
                };
                let weight = f64::from(self.costs.weight(input));
                sum += weight * cost;
                weights += weight;
            }
        }
        sum / weights
    }
}
