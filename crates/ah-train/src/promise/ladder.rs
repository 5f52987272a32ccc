//! The ladder: models of a few sizes, from one leaf to boosted trees, compared on the inputs that folds hold out.
//!
//! Each rung is judged by its net loss: under the promise if there is one, and with the time of its decisions and of the
//! features that it uses. The smallest rung is taken that loses little more than the best ([`Size`]), where a difference within
//! the noise of the inputs is none. Boosted trees are not grown where a tree loses at most [`GOOD_ENOUGH`].

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use ah_model::{ChoiceId, Model, Promise};
use serde::Serialize;

use super::calibrate::{ALWAYS, CONFIDENCE, CalibratedMargin, Calibration, Look, NEVER, tested};
use super::folds::{CrossFitted, Folds, decide_by_group};
use super::new_groups::{NewGroups, interval};
use super::recipe::{Fitted, Recipe, View};
use crate::data::{Dataset, Table};
use crate::decisions::JudgedInput;
use crate::overhead::Overhead;
use crate::params::{LearnerKind, Size};
use crate::plan::TrainPlan;
use crate::search::Configuration;
use crate::search::cross_validation::{difference, mean};

/// Leaves of the small trees. The last rung of trees is the whole one.
const LEAVES: [usize; 4] = [1, 4, 16, 64];

/// A tree that loses less needs no boosted trees beside it: they would take most of the learning time to gain less than this.
pub const GOOD_ENOUGH: f64 = 0.005;

/// A smaller model is as good as the best one within this many standard errors of the difference. From 70, 130 and 220 inputs of 18
/// logs (six seeds), heuristics lose 0.31, 0.27 and 0.27 points more with 1.0 to 1.6, and 0.03 less with none, where models grow
/// with every few inputs.
const WITHIN_NOISE: f64 = 0.5;

/// A model of one size.
#[derive(Clone, Debug, Serialize)]
pub struct Rung {
    /// The leaves of the readable tree, learned from the training part.
    pub leaves: usize,
    /// The boosted trees beside it.
    pub boosted_trees: usize,
    /// What it takes over the best choices, by the objective's mean over the inputs that folds hold out, which count as they are
    /// learned, with the decision and under the promise.
    pub slowdown: f64,
    /// How many times as fast as the fallback, with the decision.
    pub speedup: f64,
    /// The mean milliseconds that asking takes.
    pub asking_ms: f64,
    /// The most leaves of its tree; `None`: the whole tree.
    #[serde(skip)]
    pub most: Option<usize>,
    /// Whether choices are taken at all.
    #[serde(skip)]
    pub decides: bool,
}

/// The rungs, the smallest first, and the one that is taken.
#[derive(Clone, Debug, Serialize)]
pub struct Ladder {
    /// The sizes that were tried.
    pub rungs: Vec<Rung>,
    /// The position of the one that is taken.
    pub chosen: usize,
    /// The most that a rung may lose to be as good as the best, as a slowdown.
    pub accepted: f64,
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
    /// The model of that rung, without its record.
    pub model: Model,
    /// The same, always deciding.
    pub always: Model,
    /// The promise that it keeps; `None` without one.
    pub look: Option<Look>,
}

/// A size, and what it decides on the inputs that folds hold out.
struct Sized<'c> {
    configuration: &'c Configuration,
    fitted: Fitted,
    most: Option<usize>,
    held_out: Vec<JudgedInput>,
    /// With a promise.
    calibration: Option<Calibration>,
}

/// A size with the margin that one promise gives it.
struct Candidate<'c> {
    size: &'c Sized<'c>,
    calibrated: Option<CalibratedMargin>,
    /// Its margin.
    margin: f64,
    /// By decision, its cost at the margin.
    costs: Vec<f64>,
    mean: f64,
    rung: Rung,
}

/// Learns models of each size from the inputs of these folds, with the tree of `recipe` and its boosted trees, and takes one: for the
/// first promise of the plan under which something is faster than the fallback, or else for the first one.
pub fn climb(recipe: &Recipe<'_>, folds: &Folds<'_>) -> Climbed {
    let plan = recipe.plan;
    let single = match plan.learner {
        // Of estimates only one leaf: those of a larger tree are too small to have measured what they pick.
        LearnerKind::Boosted => {
            recipe.dataset.table.has_estimates().then(|| recipe.configuration.with_depth(0))
        }
        _ => Some(recipe.configuration.clone()),
    };
    let boosted = boosted(plan, recipe.configuration);
    let mut trees: Vec<Sized<'_>> = Vec::new();
    if let Some(configuration) = &single {
        let recipe = Recipe { configuration, ..*recipe };
        let fitted = folds.fit(&recipe);
        for most in sizes(plan, fitted.whole.ensemble.tree.leaves()) {
            let size = Sized::new(&recipe, configuration, folds, &fitted, most);
            // Pruning may skip sizes.
            if trees.last().is_none_or(|last| last.leaves() != size.leaves()) {
                trees.push(size);
            }
        }
    }
    let of_boosted = LazyCell::new(|| {
        boosted.as_ref().map(|configuration| {
            let recipe = Recipe { configuration, ..*recipe };
            Sized::new(&recipe, configuration, folds, &folds.fit(&recipe), None)
        })
    });
    let mut first = None;
    for look in plan.looks.iter().copied().map(Some).chain(plan.looks.is_empty().then_some(None)) {
        let climbed = climb_for(recipe, folds, &trees, &of_boosted, look);
        if climbed.ladder.rung().speedup > 1.0 {
            return climbed;
        }
        first.get_or_insert(climbed);
    }
    first.expect("a plan has a promise to look at, or none")
}

/// Takes one of these sizes under this promise.
fn climb_for<'s>(
    recipe: &Recipe<'_>,
    folds: &Folds<'_>,
    trees: &'s [Sized<'s>],
    boosted: &'s impl Deref<Target = Option<Sized<'s>>>,
    look: Option<Look>,
) -> Climbed {
    let Recipe { dataset, plan, .. } = recipe;
    let candidate = |size: &'s Sized<'s>| Candidate::new(recipe, folds, size, look);
    let mut candidates: Vec<Candidate<'s>> = trees.iter().map(candidate).collect();
    let over_best = |mean| dataset.table.objective.over_best(mean);
    let good_enough = if plan.size == Size::Default { GOOD_ENOUGH } else { plan.size.tolerance() };
    let best_tree = candidates.iter().map(|c| c.mean).fold(f64::INFINITY, f64::min);
    if over_best(best_tree) > 1.0 + good_enough {
        candidates.extend(boosted.as_ref().map(candidate));
    }
    let (chosen, accepted) = choose(&candidates, dataset, plan.size, over_best);
    let ladder = Ladder { rungs: candidates.iter().map(|c| c.rung.clone()).collect(), chosen, accepted };
    let Candidate { size, calibrated, margin, .. } = &candidates[chosen];
    let recipe = Recipe { configuration: size.configuration, max_leaves: size.most, ..*recipe };
    Climbed {
        ladder,
        configuration: size.configuration.clone(),
        model: recipe.with_promise(&size.fitted, folds, look.zip(*calibrated), *margin),
        always: recipe.model(&size.fitted, folds.fallback, ALWAYS),
        look,
    }
}

/// A heuristic that was learned from all inputs.
pub struct Learned {
    /// The model, without its record.
    pub model: Model,
    /// The calibration of its promise; `None` if it has none.
    pub calibrated: Option<CalibratedMargin>,
    /// What it loses on new groups, where there are groups.
    pub on_new_groups: Option<NewGroups>,
}

impl Recipe<'_> {
    /// Learns a heuristic of this rung from these inputs, with a promise if the plan has one.
    pub fn learn(&self, inputs: &[u32], rung: &Rung) -> Learned {
        let Some(&look) = self.plan.looks.first() else {
            let margin = if rung.decides { ALWAYS } else { NEVER };
            let model = self.learn_without_promise(inputs, margin);
            return Learned { model, calibrated: None, on_new_groups: self.on_new_groups(inputs, margin) };
        };
        let view = Arc::new(View::new(self.dataset, self.plan, inputs));
        let folds = Folds::new(self.dataset, self.plan, inputs, &view);
        let fitted = folds.fit(self);
        let size = Sized::new(self, self.configuration, &folds, &fitted, self.max_leaves);
        let (calibrated, margin) = self.margin(&folds, &size, Some(look));
        let model = self.with_promise(&size.fitted, &folds, calibrated.map(|c| (look, c)), margin);
        Learned { model, calibrated, on_new_groups: self.on_new_groups(inputs, margin) }
    }

    /// Returns what a heuristic of this margin loses on groups that it never saw.
    fn on_new_groups(&self, inputs: &[u32], margin: f64) -> Option<NewGroups> {
        let (dataset, fallback) = (self.dataset, self.dataset.fallback(inputs));
        let shared = dataset.groups.as_ref()?.shared.clone();
        let judged = decide_by_group(self, inputs, fallback);
        let held_out: Vec<u32> = judged.iter().map(|judged| judged.input).collect();
        let (costs, weights) = (costs(&judged, &dataset.table, fallback, margin), weights(dataset, &judged));
        let [low, high] = interval(&costs, &weights, &dataset.group_of(&held_out)?, self.plan.seed);
        let over_best = |cost| dataset.table.objective.over_best(cost);
        let groups = dataset.group_of(inputs)?.into_iter().collect::<BTreeSet<u32>>().len();
        Some(NewGroups { shared, groups, low: over_best(low), high: over_best(high) })
    }

    /// Returns the calibrated margin, and the one that the heuristic gets: with a promise that the inputs cannot show it never decides,
    /// and without a promise always, unless the fallback alone loses less.
    fn margin(
        &self,
        folds: &Folds<'_>,
        size: &Sized<'_>,
        look: Option<Look>,
    ) -> (Option<CalibratedMargin>, f64) {
        let held_out = &size.held_out;
        let Some((look, calibration)) = look.zip(size.calibration.as_ref()) else {
            let weights = weights(self.dataset, held_out);
            let mean_at =
                |margin| mean(&costs(held_out, &self.dataset.table, folds.fallback, margin), &weights);
            // A ranking has other uses.
            let never = self.plan.settings.ranking.is_none() && mean_at(ALWAYS) > mean_at(NEVER);
            return (None, if never { NEVER } else { ALWAYS });
        };
        let calibrated = calibration.walk(self.plan.promise, look);
        (calibrated, calibrated.map_or(NEVER, |calibrated| calibrated.margin))
    }

    /// Returns the model of an ensemble at this margin, with its promise if there is one.
    fn with_promise(
        &self,
        fitted: &Fitted,
        folds: &Folds<'_>,
        calibrated: Option<(Look, CalibratedMargin)>,
        margin: f64,
    ) -> Model {
        let plan = self.plan;
        let promise = calibrated.map(|(look, calibrated)| Promise {
            target: look.share,
            confidence: CONFIDENCE,
            limit: plan.max_slowdown,
            mode: plan.promise,
            tested: tested(plan.promise, look.share),
            level: look.level,
            inputs: calibrated.inputs as u64,
            groups: calibrated.independent as u64,
            violations: calibrated.violations as u64,
            clear: calibrated.clear as u64,
            runs: u64::from(median_runs(self.dataset, folds.inputs)),
            threshold: Some(calibrated.margin).filter(|margin| margin.is_finite()),
        });
        Model { promise, ..self.model(fitted, folds.fallback, margin) }
    }
}

impl<'c> Sized<'c> {
    fn new(
        recipe: &Recipe<'_>,
        configuration: &'c Configuration,
        folds: &Folds<'_>,
        fitted: &CrossFitted,
        most: Option<usize>,
    ) -> Self {
        let held_out = folds.decide(recipe, fitted, most);
        let calibration = recipe.plan.promises().then(|| folds.calibration(recipe, fitted, most, &held_out));
        let fitted = recipe.sized(&fitted.whole, most);
        Self { configuration, fitted, most, held_out, calibration }
    }

    fn leaves(&self) -> usize {
        self.fitted.ensemble.tree.leaves()
    }
}

impl<'c> Candidate<'c> {
    fn new(recipe: &Recipe<'_>, folds: &Folds<'_>, size: &'c Sized<'c>, look: Option<Look>) -> Self {
        let (dataset, fallback) = (recipe.dataset, folds.fallback);
        let Sized { fitted, most, held_out, .. } = size;
        let (calibrated, margin) = recipe.margin(folds, size, look);
        let costs_at = |margin| costs(held_out, &dataset.table, fallback, margin);
        let (costs, weights) = (costs_at(margin), weights(dataset, held_out));
        let [mean_cost, of_fallback] = [mean(&costs, &weights), mean(&costs_at(NEVER), &weights)];
        let over_best = |cost| dataset.table.objective.over_best(cost);
        let ensemble = &fitted.ensemble;
        let asking: f64 = held_out.iter().zip(&weights).map(|(h, weight)| h.overhead.ms * weight).sum();
        let rung = Rung {
            leaves: ensemble.tree.leaves(),
            boosted_trees: ensemble.boosters.trees.len(),
            slowdown: over_best(mean_cost),
            speedup: over_best(of_fallback) / over_best(mean_cost),
            asking_ms: if margin == NEVER { 0.0 } else { asking / weights.iter().sum::<f64>() },
            most: *most,
            decides: margin != NEVER,
        };
        Self { size, calibrated, margin, costs, mean: mean_cost, rung }
    }
}

/// Returns boosted trees beside the tree of a configuration, where there may be some.
fn boosted(plan: &TrainPlan, single: &Configuration) -> Option<Configuration> {
    let tree = match (&plan.evidence_tree, single) {
        (Some(tree), _) | (None, Configuration::CostTree(tree)) => tree.clone(),
        _ => return None,
    };
    Some(Configuration::Boosted { tree, boost: plan.boost.clone()? })
}

/// Returns the position of the smallest candidate that is as good as the best, and the greatest slowdown that counts as such:
/// the best one's and what the size lets it lose. A smaller one within the noise of the difference is as good too.
fn choose(
    candidates: &[Candidate<'_>],
    dataset: &Dataset,
    size: Size,
    over_best: impl Fn(f64) -> f64,
) -> (usize, f64) {
    let held_out = &candidates[0].size.held_out;
    let (inputs, weights): (Vec<u32>, Vec<f64>) =
        (held_out.iter().map(|judged| judged.input).collect(), weights(dataset, held_out));
    let groups = dataset.group_of(&inputs);
    let means = candidates.iter().map(|candidate| candidate.mean);
    let (best, least) = means
        .enumerate()
        .fold((0, f64::INFINITY), |best, (at, mean)| if mean < best.1 { (at, mean) } else { best });
    let one_leaf = candidates.first().filter(|candidate| candidate.rung.leaves == 1);
    let one_leaf = one_leaf.map_or(f64::INFINITY, |candidate| over_best(candidate.mean));
    let limit = size.greatest_slowdown(over_best(least), one_leaf);
    let is_as_good = |candidate: &Candidate<'_>| {
        let (more, error) =
            difference(&candidate.costs, &candidates[best].costs, &weights, groups.as_deref());
        // One leaf gets no such favour: where a tree saves it gives the whole gain up, and few inputs would turn the answer over.
        let errors = if candidate.rung.leaves == 1 { 0.0 } else { WITHIN_NOISE };
        more <= errors * error
    };
    let is_enough = |candidate: &&Candidate<'_>| {
        over_best(candidate.mean) <= limit || size != Size::Best && is_as_good(candidate)
    };
    let chosen = candidates.iter().position(|candidate| is_enough(&candidate)).unwrap_or(best);
    (chosen, limit.max(over_best(candidates[chosen].mean)))
}

/// Returns the sizes of trees to try, `whole` the leaves of the largest one.
fn sizes(plan: &TrainPlan, whole: usize) -> Vec<Option<usize>> {
    match plan.settings.max_leaves {
        Some(most) => vec![Some(most)],
        // A program that measures the first choices itself wants all that a leaf can rank.
        None if plan.settings.ranking.is_some() => vec![None],
        None => LEAVES.into_iter().filter(|leaves| *leaves < whole).map(Some).chain([None]).collect(),
    }
}

/// Returns the costs by the objective where choices that save at least `margin` are taken, the decisions included.
fn costs(held_out: &[JudgedInput], table: &Table, fallback: ChoiceId, margin: f64) -> Vec<f64> {
    let cost = |judged: &JudgedInput| {
        let is_taken = judged.saved >= margin && margin < NEVER;
        let taken = if is_taken { judged.taken(fallback) } else { fallback };
        // A constant asks nothing.
        let overhead = if margin == NEVER { Overhead::default() } else { judged.overhead };
        overhead.cost(table, judged.input, taken, fallback)
    };
    held_out.iter().map(cost).collect()
}

/// Returns how much each decision's cost counts.
fn weights(dataset: &Dataset, held_out: &[JudgedInput]) -> Vec<f64> {
    held_out.iter().map(|held_out| dataset.table.learned_weight(held_out.input)).collect()
}

/// Returns the median number of measurements of a cell.
fn median_runs(dataset: &Dataset, inputs: &[u32]) -> u32 {
    let cells = inputs.iter().flat_map(|&i| dataset.table.cells(i));
    let mut runs: Vec<u32> = cells.filter(|c| c.time.is_finite()).map(|c| c.samples).collect();
    let middle = runs.len() / 2;
    if runs.is_empty() { 0 } else { *runs.select_nth_unstable(middle).1 }
}
