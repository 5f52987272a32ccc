//! The ladder: models of a few sizes, from one leaf to boosted trees, compared on the inputs that folds hold out.
//!
//! Each rung is judged by its net loss: under the promise if there is one, and with the time of its decisions and of the
//! features that it uses. The smallest rung that `--size` accepts is taken. Boosted trees cannot lose less than nothing, so
//! they are not grown where a tree loses at most [`GOOD_ENOUGH`].

use std::cell::OnceCell;

use ah_types::{LearnerKind, Target};
use serde::Serialize;

use super::cross_fit::CrossFit;
use super::trainer::{Heuristic, Trainer};
use crate::data::split::{self, Partition};
use crate::error::TrainError;
use crate::overhead::{Asking, ModelUse, Overhead};
use crate::params::{Size, SplitBy};
use crate::plan::TrainPlan;
use crate::search::Configuration;
use crate::search::cross_validation::{BEYOND_NOISE, difference};

/// Leaves of the small trees. The last rung of trees is the whole one.
const LEAVES: [usize; 4] = [1, 4, 16, 64];

/// Without a promise, folds are judged until they hold out this many inputs. With 2000, pad_mm A100 (1245 inputs a fold)
/// takes the smaller model with seed 1 and loses 1.0032; with 4000 it loses 1.0026, as with all folds.
const ENOUGH: usize = 4000;

/// A tree that loses less needs no boosted trees beside it: they would take most of the learning time to gain less than this.
const GOOD_ENOUGH: f64 = 0.005;

/// A model of one size.
#[derive(Clone, Debug, Serialize)]
pub struct Rung {
    /// The leaves of the readable tree, learned from the training part.
    pub leaves: usize,
    /// The boosted trees beside it.
    pub boosted_trees: usize,
    /// What it takes over the best choices, by the mean of the objective on the inputs that folds hold out, with the decision:
    /// under the promise, or always deciding where no promise is possible.
    pub slowdown: f64,
    /// How many times as fast as the fallback, with the decision.
    pub speedup: f64,
    /// Whether it keeps the promise, if one is asked for.
    pub promised: bool,
    /// What asking it adds to a run.
    pub overhead: Overhead,
    /// What a program needs to ask it.
    #[serde(skip)]
    pub used: ModelUse,
    /// The most leaves of its tree; `None`: the whole tree.
    #[serde(skip)]
    pub most: Option<usize>,
}

impl Rung {
    fn new(heuristic: &Heuristic, most: Option<usize>, trainer: &Trainer<'_>) -> Self {
        let (plan, price) = (trainer.plan, heuristic.price.clone().unwrap_or_default());
        let table = trainer.dataset.judging_table();
        let slowdown = |cost| table.over_best(cost);
        let promised = heuristic.promise.is_some() || plan.max_risk.is_none();
        let cost = if promised { price.promised } else { price.always };
        Self {
            leaves: heuristic.fitted.tree.leaves(),
            boosted_trees: heuristic.fitted.boosters.trees.len(),
            slowdown: slowdown(cost),
            speedup: slowdown(price.fallback) / slowdown(cost),
            promised,
            overhead: plan.asking.overhead(&heuristic.used),
            used: heuristic.used.clone(),
            most,
        }
    }

    /// Returns the milliseconds of a decision in this form, the features left out.
    pub fn decision_ms(&self, form: Target, asking: &Asking) -> f64 {
        asking.decision_ms(form, &self.used.parts)
    }
}

/// The rungs, the smallest first, and the one that is taken.
#[derive(Clone, Debug, Serialize)]
pub struct Ladder {
    /// The sizes that were tried.
    pub rungs: Vec<Rung>,
    /// The position of the one that is taken.
    pub chosen: usize,
}

impl Ladder {
    /// Returns the rung that is taken.
    pub fn rung(&self) -> &Rung {
        &self.rungs[self.chosen]
    }
}

/// The end of a climb.
pub struct Climbed {
    /// All rungs.
    pub ladder: Ladder,
    /// The learner of the rung that is taken.
    pub configuration: Configuration,
    /// The heuristic of that rung.
    pub heuristic: Heuristic,
}

/// Learns models of each size from these inputs, with the tree of `trainer` and its boosted trees, and takes one.
///
/// # Errors
/// Those of the learners.
pub fn climb(trainer: &Trainer<'_>, inputs: &[u32]) -> Result<Climbed, TrainError> {
    let plan = trainer.plan;
    let parts = parts(trainer, inputs);
    let mut rungs: Vec<(Rung, Heuristic)> = Vec::new();
    let single = match plan.learner {
        // Of estimates only one leaf: those of a larger tree are too small to have measured what they pick.
        LearnerKind::Boosted => {
            trainer.dataset.table.has_estimates().then(|| trainer.configuration.with_depth(0))
        }
        _ => Some(trainer.configuration.clone()),
    };
    let of_single = single.as_ref().map(|configuration| Trainer { configuration, ..*trainer });
    let trees = of_single.as_ref().map(|trainer| CrossFit::new(trainer, inputs, &parts, None)).transpose()?;
    if let Some(trees) = &trees {
        for most in sizes(plan, trees.leaves()) {
            let heuristic = trees.heuristic(most);
            // Pruning may skip sizes.
            if rungs.last().is_some_and(|(rung, _)| rung.leaves == heuristic.fitted.tree.leaves()) {
                continue;
            }
            rungs.push((Rung::new(&heuristic, most, trainer), heuristic));
        }
    }
    let good_enough = if plan.size == Size::Default { GOOD_ENOUGH } else { plan.size.tolerance() };
    let boosted = boosted(plan, trainer.configuration).filter(|_| best(&rungs) > 1.0 + good_enough);
    let mut boosted_rung = None;
    let one_leaf = OnceCell::new();
    if let Some(boosted) = &boosted {
        let trainer = Trainer { configuration: boosted, ..*trainer };
        let ensembles = CrossFit::new(&trainer, inputs, &parts, trees.as_ref())?;
        let heuristic = ensembles.heuristic(None);
        let losses = || ensembles.losses(&heuristic, None);
        // What boosted trees gain over one leaf must be beyond the noise.
        let leaf = one_leaf.get_or_init(|| losses_of_one_leaf(trees.as_ref(), &rungs)).as_deref();
        let is_noise = leaf.is_some_and(|leaf| !is_beyond_noise(leaf, &losses()));
        let rung = Rung::new(&heuristic, None, &trainer);
        if !is_noise {
            boosted_rung = Some(rungs.len());
            rungs.push((rung, heuristic));
        }
    }
    let mut chosen = choose(&rungs, plan.size);
    if let Some(trees) = &trees
        && boosted_rung != Some(chosen)
    {
        let (rung, heuristic) = &rungs[chosen];
        let losses = || trees.losses(heuristic, rung.most);
        if chosen > 0 {
            // What a tree gains must be beyond the noise too. On times of numpy products that varied by a factor of two, three
            // leaves seemed to gain 1.3 %, and lost 9 %.
            let leaf = one_leaf.get_or_init(|| losses_of_one_leaf(Some(trees), &rungs)).as_deref();
            if leaf.is_some_and(|leaf| !is_beyond_noise(leaf, &losses())) {
                chosen = 0;
            }
        }
    }
    let ladder = Ladder { rungs: rungs.iter().map(|rung| rung.0.clone()).collect(), chosen };
    let configuration = boosted.filter(|_| boosted_rung == Some(chosen)).or(single);
    let configuration = configuration.unwrap_or_else(|| trainer.configuration.clone());
    let heuristic = rungs.swap_remove(chosen).1;
    Ok(Climbed { ladder, configuration, heuristic })
}

/// Returns boosted trees beside the tree of a configuration, where there may be some.
fn boosted(plan: &TrainPlan, single: &Configuration) -> Option<Configuration> {
    let boost = plan.boost.clone()?;
    Some(match &plan.evidence_tree {
        Some(tree) => Configuration::Boosted { tree: tree.clone(), boost },
        None => single.boosted(boost),
    })
}

/// Returns the smallest rung that this size accepts.
fn choose(rungs: &[(Rung, Heuristic)], size: Size) -> usize {
    let one_leaf =
        rungs.first().filter(|(rung, _)| rung.leaves == 1).map_or(f64::INFINITY, |(rung, _)| rung.slowdown);
    let greatest = size.greatest_slowdown(best(rungs), one_leaf);
    slowdowns(rungs).position(|slowdown| slowdown <= greatest).unwrap_or(0)
}

/// Returns the least slowdown.
fn best(rungs: &[(Rung, Heuristic)]) -> f64 {
    slowdowns(rungs).fold(f64::INFINITY, f64::min)
}

/// Returns the slowdown of each rung; infinite without a promise where another rung has one.
fn slowdowns(rungs: &[(Rung, Heuristic)]) -> impl Iterator<Item = f64> {
    let none = rungs.iter().all(|(rung, _)| !rung.promised);
    rungs.iter().map(move |(rung, _)| if rung.promised || none { rung.slowdown } else { f64::INFINITY })
}

/// Returns the sizes of trees to try, `whole` the leaves of the largest one.
fn sizes(plan: &TrainPlan, whole: usize) -> Vec<Option<usize>> {
    match plan.max_leaves {
        Some(most) => vec![Some(most)],
        // A program that measures the first choices itself wants all that a leaf can rank.
        None if plan.ranking.is_some() => vec![None],
        None => LEAVES.into_iter().filter(|leaves| *leaves < whole).map(Some).chain([None]).collect(),
    }
}

/// Returns the folds: those that calibrate the promise, else those of the search until they hold out enough.
fn parts(trainer: &Trainer<'_>, inputs: &[u32]) -> Vec<Partition> {
    let Trainer { dataset, plan, .. } = trainer;
    if plan.max_risk.is_some() {
        return trainer.calibration_parts(inputs);
    }
    let keys = dataset.keys(SplitBy::Input, inputs);
    let mut parts = split::partitions(&dataset.table, inputs, &keys, plan.folds, plan.seed);
    parts.truncate(ENOUGH.div_ceil(parts[0].held_out.len().max(1)));
    parts
}

/// Returns the losses of the smallest tree if it is one leaf.
fn losses_of_one_leaf(trees: Option<&CrossFit<'_>>, rungs: &[(Rung, Heuristic)]) -> Option<Vec<f64>> {
    let (leaf, heuristic) = rungs.first().filter(|(rung, _)| rung.leaves == 1)?;
    Some(trees?.losses(heuristic, leaf.most))
}

/// Returns whether the second losses are lower than the first, on the same inputs, by more than their noise.
fn is_beyond_noise(first: &[f64], second: &[f64]) -> bool {
    let (saved, error) = difference(first, second);
    saved > BEYOND_NOISE * error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_measured_on_the_same_inputs() {
        let (mean, error) = difference(&[1.0, 2.0, 3.0, 4.0], &[0.5, 1.5, 2.5, 3.5]);
        assert_eq!((mean, error), (0.5, 0.0));
        assert!(is_beyond_noise(&[1.0, 2.0, 3.0, 4.0], &[0.5, 1.5, 2.5, 3.5]));
        assert!(!is_beyond_noise(&[1.0, 0.0, 1.0, 0.0], &[0.0, 1.0, 0.0, 0.9]));
    }
}
