//! Which features are worth the time that they take.
//!
//! A program computes every feature that the model reads before it decides. Each feature with a known time, the most
//! expensive first, is left out if the tree without it loses less on held-out folds,
//! this time included, by at least one standard error: the time is certain, and what a few inputs lose is not.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::configuration::Configuration;
use super::cross_validation::{Fold, cross_validate, difference};
use crate::data::split::{self, Partition};
use crate::data::{Costs, Dataset, FitRows, RankedFeatures};
use crate::overhead::{Footprint, Overhead};
use crate::params::SplitBy;
use crate::plan::{SEARCH_FOLDS, TrainPlan};

/// A feature that adds less than this to the mean cost is never left out.
const LEAST: f64 = 1e-4;

/// The slots of the logged features that cost more than they gain.
pub fn not_worth_their_time(dataset: &Dataset, plan: &TrainPlan, training: &[u32]) -> BTreeSet<usize> {
    let mut left_out = BTreeSet::new();
    if !plan.counts_asking() {
        return left_out;
    }
    let mean_added = |overhead: Overhead| {
        let costs = training.iter().map(|&input| overhead.added(&dataset.table, input));
        costs.sum::<f64>() / training.len() as f64
    };
    let mut expensive = plan.call_site.feature_ms.clone();
    expensive.retain(|(slot, _)| {
        let used = Footprint { logged: [*slot].into(), ..Footprint::default() };
        mean_added(plan.call_site.overhead(&used, &used.parts)) > LEAST
    });
    if expensive.is_empty() {
        return left_out;
    }
    let keys = dataset.keys(SplitBy::Input, training);
    let folds = split::partitions(training, &keys, SEARCH_FOLDS, plan.seed);
    let costs = Costs::new(&dataset.table, None);
    let held_out: Vec<u32> = folds.iter().flat_map(|fold| &fold.held_out).copied().collect();
    let groups = dataset.group_of(&held_out);
    let losses = |left_out: &BTreeSet<usize>| net_losses(dataset, plan, &folds, &costs, left_out);
    let mut least = losses(&left_out);
    for (slot, _) in expensive {
        let further = &left_out | &[slot].into();
        // Without any feature there is one leaf, which competes with trees of all sizes anyway.
        if further.len() == dataset.features.base().len() {
            continue;
        }
        let without = losses(&further);
        let (more, error) = difference(&without, &least, &vec![1.0; least.len()], groups.as_deref());
        if more + error <= 0.0 {
            (least, left_out) = (without, further);
        }
    }
    left_out
}

/// The weighted cost of each held-out input by trees without these features, with the decision and the features that
/// they use.
fn net_losses(
    dataset: &Dataset,
    plan: &TrainPlan,
    folds: &[Partition],
    costs: &Costs,
    left_out: &BTreeSet<usize>,
) -> Vec<f64> {
    let ranked: Vec<RankedFeatures> =
        folds.par_iter().map(|part| dataset.ranked_without(&part.training, left_out)).collect();
    let folds: Vec<Fold<'_>> =
        folds.iter().zip(&ranked).map(|(part, r)| Fold { part, columns: &r.columns }).collect();
    let mut net = Vec::new();
    let judged = cross_validate(&*Configuration::new(plan).learner, &folds, costs);
    for ((fitted, losses), Fold { part, columns }) in judged.iter().zip(folds) {
        let rows = FitRows { columns, inputs: &part.training };
        let used = Footprint::of_fitted(fitted, &dataset.features, &rows);
        let overhead = plan.call_site.overhead(&used, &used.parts);
        for (&input, loss) in part.held_out.iter().zip(losses) {
            net.push(f64::from(costs.weight(input)) * (loss + overhead.added(&dataset.table, input)));
        }
    }
    net
}
