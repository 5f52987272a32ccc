//! The ladder: models of a few sizes, from one leaf to boosted trees, compared on the inputs that folds hold out.
//!
//! Each rung is judged by its net loss: under the promise if there is one, and with the time of its decisions and of the
//! features that it uses, except with [`Size::Best`], which compares the picks alone. The smallest rung is taken that loses little more than the best ([`Size`]), where a difference within
//! the noise of the inputs is none. Boosted trees are not grown where a tree loses at most [`GOOD_ENOUGH`].

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use ah_model::{ChoiceId, Model, Promise};
use serde::Serialize;

use super::calibrate::{ALWAYS, CONFIDENCE, CalibratedMargin, Look, NEVER};
use super::folds::{CrossFitted, Folds, HeldOut};
use super::new_groups::{NewGroups, interval};
use super::recipe::{Fitted, Recipe, View};
use crate::bootstrap::Range;
use crate::data::{Dataset, Table};
use crate::decisions::JudgedInput;
use crate::learners::{Boosting, CostTree, ResidualTree, SharpTree};
use crate::overhead::Overhead;
use crate::params::{LearnerKind, Params, Size};
use crate::plan::TrainPlan;
use crate::search::Configuration;
use crate::search::cross_validation::{BEYOND_NOISE, difference, mean};

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
    /// Whether the trees stand on a cost formula.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_formula: bool,
    /// What it takes over the best choices, by the objective's mean over the inputs that folds hold out, which count as they are
    /// learned, with the decision and under the promise.
    pub slowdown: f64,
    /// The same without the decision.
    pub slowdown_of_picks: f64,
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
    /// The most that a rung may lose to be as good as the best, as a slowdown by what is compared.
    pub accepted: f64,
}

impl Ladder {
    /// The rung that is taken.
    pub fn rung(&self) -> &Rung {
        &self.rungs[self.chosen]
    }
}

/// The size that is taken, and its model.
pub struct SizeChoice {
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
    /// The stricter default promise that costs much more than this one.
    pub stricter: Option<StricterPromise>,
    /// What it loses on new groups, where there are groups.
    pub on_new_groups: Option<NewGroups>,
    /// What it decides on the inputs that folds hold out.
    pub cross_validated: Vec<JudgedInput>,
}

/// A default promise that was not made because of its price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StricterPromise {
    /// The share of inputs that may break it.
    pub share: f64,
    /// How many times as long it takes.
    pub takes: f64,
}

/// A promise that costs a greater share of the time is costly: the summary says what it costs. A default promise that
/// leaves no decision is dropped, and so is one where the next share saves as much.
pub const COSTLY: f64 = 0.05;

/// A size before one is taken.
struct Candidate<'c> {
    configuration: &'c Configuration,
    fitted: Fitted,
    held_out: HeldOut,
    calibrated: Option<CalibratedMargin>,
    /// Its margin.
    margin: f64,
    /// By decision, its cost at the margin as it is compared, and what they are over the best choices.
    costs: Vec<f64>,
    slowdown: f64,
    rung: Rung,
}

/// A learner beyond one tree, and its ensembles once it is asked.
struct Larger {
    configuration: Configuration,
    fitted: OnceCell<CrossFitted>,
}

/// Learns models of each size from the inputs of these folds, with the tree of `recipe` and its boosted trees, and takes one: for the
/// first promise of the plan under which something is faster than the fallback, or else for the first one. Where that promise is costly,
/// a later one that saves much of its price is made instead.
pub fn choose_size(recipe: &Recipe<'_>, folds: &Folds<'_>) -> SizeChoice {
    let Recipe { dataset, plan, .. } = *recipe;
    let learner = plan.learner.row();
    let single = (learner.boosting != Boosting::Always).then(|| folds.fit(recipe));
    let boosted = boosted(plan, recipe.configuration);
    let on_formula = boosted.clone().map(Configuration::on_formula);
    let larger = |configuration| Larger { configuration, fitted: OnceCell::new() };
    let sharp = sharp_tree(plan).map(larger);
    let readable: Vec<Larger> = tree_on_formula(plan).into_iter().map(larger).collect();
    let boosted: Vec<Larger> = boosted.into_iter().chain(on_formula).map(larger).collect();
    let formula_folds: OnceCell<Option<Folds<'_>>> = OnceCell::new();
    let folds_of = |configuration: &Configuration| match configuration.on_formula {
        true => formula_folds.get_or_init(|| folds.on_formula(dataset, plan)).as_ref(),
        false => Some(folds),
    };
    let good_enough = if plan.size == Size::Default { GOOD_ENOUGH } else { plan.size.tolerance() };
    let is_enough = |candidates: &[Candidate<'_>]| {
        candidates.iter().any(|candidate| candidate.slowdown <= 1.0 + good_enough)
    };
    let mut first: Option<SizeChoice> = None;
    for look in plan.looks.iter().copied().map(Some).chain(plan.looks.is_empty().then_some(None)) {
        let mut candidates: Vec<Candidate<'_>> = Vec::new();
        if let Some(fitted) = &single {
            for most in sizes(plan, fitted.whole.ensemble.tree.leaves()) {
                let candidate = Candidate::new(recipe, folds, fitted, most, look);
                // Pruning may skip sizes.
                if candidates.last().is_none_or(|last| last.rung.leaves != candidate.rung.leaves) {
                    candidates.push(candidate);
                }
            }
        }
        let leaf = candidates.first().map_or(0.0, |leaf| leaf.slowdown);
        if let Some(Larger { configuration, fitted }) = &sharp
            && candidates.iter().all(|tree| tree.slowdown >= leaf.max(1.0 + GOOD_ENOUGH))
        {
            let recipe = Recipe { configuration, ..*recipe };
            let fitted = fitted.get_or_init(|| folds.fit(&recipe));
            let sizes = sizes(plan, fitted.whole.ensemble.tree.leaves()).into_iter();
            let sharp = sizes.map(|most| Candidate::new(&recipe, folds, fitted, most, look));
            // Noise leaves no tree that loses so little.
            let least = (1.0 + (leaf - 1.0) * (1.0 - WORTH_OF_LOSS)).min(1.0 + GOOD_ENOUGH);
            candidates.extend(sharp.filter(|tree| tree.slowdown <= least));
        }
        for larger in [&readable, &boosted] {
            if is_enough(&candidates) {
                break;
            }
            for Larger { configuration, fitted } in larger {
                let Some(folds) = folds_of(configuration) else { continue };
                let recipe = Recipe { configuration, ..*recipe };
                let fitted = fitted.get_or_init(|| folds.fit(&recipe));
                candidates.push(Candidate::new(&recipe, folds, fitted, None, look));
            }
        }
        let lines = |rung: &Rung| rung.leaves + if rung.on_formula { FORMULA_AS_LEAVES } else { 0 };
        candidates.sort_by_key(|candidate| (candidate.rung.boosted_trees, lines(&candidate.rung)));
        let (chosen, accepted) = choose(&candidates, dataset, plan.size, look);
        let ladder = Ladder { rungs: candidates.iter().map(|c| c.rung.clone()).collect(), chosen, accepted };
        let Candidate { configuration, rung, fitted, calibrated, margin, held_out, .. } = &candidates[chosen];
        let recipe = Recipe { configuration, max_leaves: rung.most, ..*recipe };
        let decisions = &held_out.decisions;
        let always = costs(decisions, &dataset.table, folds.fallback, ALWAYS, Counted::WithAsking);
        let always = dataset.table.objective.over_best(mean(&always, &weights(dataset, decisions)));
        let is_costly = always < rung.slowdown * (1.0 - COSTLY);
        let at_margin = |judged: &JudgedInput| match judged.saved >= *margin && *margin < NEVER {
            true => judged.clone(),
            false => JudgedInput::constant(judged.input, folds.fallback),
        };
        let kept = first.as_ref().filter(|kept| kept.ladder.rung().speedup > 1.0);
        let takes = kept.map_or(f64::INFINITY, |kept| rung.speedup / kept.ladder.rung().speedup);
        let stricter = kept.and_then(|kept| Some(StricterPromise { share: kept.look?.share, takes }));
        if first.is_none() || rung.speedup > 1.0 && takes * (1.0 - COSTLY) > 1.0 {
            first = Some(SizeChoice {
                ladder,
                configuration: (*configuration).clone(),
                model: recipe.with_promise(fitted, folds, look.zip(*calibrated), *margin),
                always: recipe.model(fitted, folds.fallback, ALWAYS),
                look,
                stricter,
                on_new_groups: recipe.on_new_groups(&held_out.by_group, folds.fallback, *margin),
                cross_validated: decisions.iter().map(at_margin).collect(),
            });
        }
        if rung.speedup > 1.0 && !is_costly {
            break;
        }
    }
    first.expect("there is a promise to look at, or none")
}

impl Recipe<'_> {
    /// Learns a heuristic of this rung from these inputs, with a promise if the plan has one.
    pub fn learn(&self, inputs: &[u32], rung: &Rung) -> (Model, Option<CalibratedMargin>) {
        let Some(&look) = self.plan.looks.first() else {
            let margin = if rung.decides { ALWAYS } else { NEVER };
            return (self.learn_without_promise(inputs, margin), None);
        };
        let view = Arc::new(View::new(self.dataset, self.plan, inputs, self.configuration.on_formula));
        let folds = Folds::new(self.dataset, self.plan, inputs, &view);
        let fitted = folds.fit(self);
        let held_out = folds.decide(self, &fitted, self.max_leaves);
        let (calibrated, margin) = self.margin(&folds, &held_out, Some(look));
        let fitted = self.sized(&fitted.whole, self.max_leaves);
        (self.with_promise(&fitted, &folds, Some(look).zip(calibrated), margin), calibrated)
    }

    /// The loss of a heuristic of this margin on groups that it never saw, by these decisions.
    fn on_new_groups(&self, by_group: &[JudgedInput], fallback: ChoiceId, margin: f64) -> Option<NewGroups> {
        let Dataset { table, groups, .. } = self.dataset;
        let costs_at = |margin| costs(by_group, table, fallback, margin, Counted::WithAsking);
        let [costs, of_fallback] = [margin, NEVER].map(costs_at);
        let inputs: Vec<u32> = by_group.iter().map(|judged| judged.input).collect();
        let keys = self.dataset.group_of(&inputs)?;
        let weights = weights(self.dataset, by_group);
        let Range { low, high } = interval(&costs, &of_fallback, &weights, &keys);
        let single = JudgedInput::of_single(table.best_single(&inputs), table, &inputs);
        let of_single = self::costs(&single, table, fallback, ALWAYS, Counted::Picks);
        let [mean, single, low, high] = [mean(&costs, &weights), mean(&of_single, &weights), low, high]
            .map(|cost| table.objective.over_best(cost));
        let all = self.dataset.group_of(&self.dataset.usable)?;
        let count = all.into_iter().collect::<BTreeSet<u64>>().len();
        Some(NewGroups { shared: groups.as_ref()?.shared.clone(), groups: count, mean, single, low, high })
    }

    /// The calibrated margin, and the one that the heuristic gets: with a promise that the inputs cannot show it never decides,
    /// and without a promise always, unless the fallback alone loses less.
    fn margin(
        &self,
        folds: &Folds<'_>,
        held_out: &HeldOut,
        look: Option<Look>,
    ) -> (Option<CalibratedMargin>, f64) {
        let Some(look) = look else {
            let decisions = &held_out.decisions;
            let weights = weights(self.dataset, decisions);
            let table = &self.dataset.table;
            let counted = Counted::by(self.plan);
            let mean_at = |margin| mean(&costs(decisions, table, folds.fallback, margin, counted), &weights);
            // A ranking has other uses.
            let never = self.plan.settings.ranking.is_none() && mean_at(ALWAYS) > mean_at(NEVER);
            return (None, if never { NEVER } else { ALWAYS });
        };
        let calibrated = folds.calibration(self, held_out).walk(self.plan.promise, look);
        (calibrated, calibrated.map_or(NEVER, |calibrated| calibrated.margin))
    }

    /// The model of an ensemble at this margin, with its promise if there is one.
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
            inputs: calibrated.inputs as u64,
            groups: calibrated.independent as u64,
            violations: calibrated.violations as u64,
            threshold: Some(calibrated.margin).filter(|margin| margin.is_finite()),
        });
        Model { promise, ..self.model(fitted, folds.fallback, margin) }
    }
}

impl<'c> Candidate<'c> {
    fn new(
        recipe: &Recipe<'c>,
        folds: &Folds<'_>,
        fitted: &CrossFitted,
        most: Option<usize>,
        look: Option<Look>,
    ) -> Self {
        let Recipe { dataset, configuration, .. } = *recipe;
        let fallback = folds.fallback;
        let held_out = folds.decide(recipe, fitted, most);
        let (calibrated, margin) = recipe.margin(folds, &held_out, look);
        let decisions = &held_out.decisions;
        let costs_of = |counted, margin| costs(decisions, &dataset.table, fallback, margin, counted);
        let weights = weights(dataset, decisions);
        let slowdown =
            |counted, margin| dataset.table.objective.over_best(mean(&costs_of(counted, margin), &weights));
        let picks = slowdown(Counted::Picks, margin);
        let asked = slowdown(Counted::WithAsking, margin);
        let costs = costs_of(Counted::by(recipe.plan), margin);
        let fitted = recipe.sized(&fitted.whole, most);
        let ensemble = &fitted.ensemble;
        let asking: f64 = decisions.iter().zip(&weights).map(|(h, weight)| h.overhead.ms * weight).sum();
        let rung = Rung {
            leaves: ensemble.tree.leaves(),
            boosted_trees: ensemble.boosters.trees.len(),
            on_formula: ensemble.formula.is_some(),
            slowdown: asked,
            slowdown_of_picks: picks,
            speedup: slowdown(Counted::Picks, NEVER) / asked,
            asking_ms: if margin == NEVER { 0.0 } else { asking / weights.iter().sum::<f64>() },
            most,
            decides: margin != NEVER,
        };
        let slowdown = if recipe.plan.counts_asking() { asked } else { picks };
        Self { configuration, held_out, calibrated, margin, costs, slowdown, rung, fitted }
    }
}

/// A formula is as long as a tree of this many leaves. A larger tree that is hardly better does not extrapolate.
const FORMULA_AS_LEAVES: usize = 16;

/// The tree to try where no other one is better than one leaf.
fn sharp_tree(plan: &TrainPlan) -> Option<Configuration> {
    let is_other = plan.learner == LearnerKind::Linfa || plan.learner.row().boosting == Boosting::Always;
    let tree = || SharpTree(CostTree { max_depth: plan.max_depth, min_samples_leaf: plan.min_samples_leaf });
    (!is_other && plan.settings.ranking.is_none()).then(|| Configuration::of(Arc::new(tree())))
}

/// Most leaves of the tree on a formula. The formula alone is no size of its own: where it was taken instead, within the noise, seven
/// processors lost 1.44 instead of 1.15 %, and 2.03 instead of 1.83 of 60 inputs (one tree, five or six seeds).
const LEAVES_ON_FORMULA: usize = 8;

/// The small tree to try on a cost formula. A promise needs the margin of boosted trees.
fn tree_on_formula(plan: &TrainPlan) -> Option<Configuration> {
    let Params { ranking, max_leaves, .. } = *plan.settings;
    let learner = plan.learner.row();
    if plan.promises() || ranking.is_some() || learner.boosting == Boosting::Always || !learner.has_formulas {
        return None;
    }
    let most = max_leaves.map_or(LEAVES_ON_FORMULA, |most| most.min(LEAVES_ON_FORMULA));
    Some(Configuration::of(Arc::new(ResidualTree::new(most, plan.min_samples_leaf))).on_formula())
}

/// Boosted trees beside the tree of a configuration, where there may be some.
fn boosted(plan: &TrainPlan, single: &Configuration) -> Option<Configuration> {
    let learner = match &plan.evidence_tree {
        Some(tree) => Arc::new(tree.clone()),
        None => single.learner.clone(),
    };
    Some(Configuration { learner, boost: Some(plan.boost.clone()?), on_formula: false })
}

/// The position of the candidate that is taken, and the greatest slowdown that counts as good as the best one's. By default people
/// read it, unless boosted trees [pay](pays): thousands of lines for a tenth of a percent are not merged.
fn choose(candidates: &[Candidate<'_>], dataset: &Dataset, size: Size, look: Option<Look>) -> (usize, f64) {
    let decisions = &candidates[0].held_out.decisions;
    let weights = weights(dataset, decisions);
    let inputs: Vec<u32> = decisions.iter().map(|judged| judged.input).collect();
    let groups = dataset.group_of(&inputs);
    // Whether a candidate costs at most so many standard errors more than another one.
    let is_within = |at: usize, other: usize, errors: f64| {
        let costs = [at, other].map(|at| &candidates[at].costs);
        let (more, error) = difference(costs[0], costs[1], &weights, groups.as_deref());
        more <= errors * error
    };
    let all: Vec<usize> = (0..candidates.len()).collect();
    let is_boosted = |at: &usize| candidates[*at].rung.boosted_trees > 0;
    let (boosted, readable): (Vec<usize>, Vec<usize>) = all.iter().partition(|at| is_boosted(at));
    let smallest = |of: &[usize]| smallest(candidates, of, size, is_within);
    let slowdown = |at: usize| candidates[at].slowdown;
    // Where something is learned, the first of these on a formula that costs at most so many standard errors more than `taken`, else `taken`.
    let or_on_formula = |of: &[usize], taken: (usize, f64), errors: f64| {
        let Rung { leaves, boosted_trees, .. } = candidates[taken.0].rung;
        let mut formulas = of.iter().filter(|at| candidates[**at].rung.on_formula);
        match formulas.find(|at| is_within(**at, taken.0, errors)) {
            Some(&at) if leaves + boosted_trees > 1 => (at, taken.1.max(slowdown(at))),
            _ => taken,
        }
    };
    match size {
        Size::Best => return or_on_formula(&boosted, smallest(&all), BOOSTED_ON_FORMULA_WITHIN_NOISE),
        Size::Default if !readable.is_empty() => {}
        _ => return smallest(&all),
    }
    let tree = or_on_formula(&readable, smallest(&readable), FORMULA_WITHIN_NOISE);
    if boosted.is_empty() {
        return tree;
    }
    let trees = smallest(&boosted);
    // Under a promise one tree may have to decline everywhere.
    let declines = look.is_some() && !candidates[tree.0].rung.decides;
    // A few groups show a gain that new groups do not have.
    let errors = match &groups {
        None => BOOSTED_BEYOND_NOISE,
        Some(_) if candidates[tree.0].rung.leaves > 1 => 1.0,
        Some(_) => BEYOND_NOISE,
    };
    let pays = pays(slowdown(tree.0), slowdown(trees.0)) && !is_within(tree.0, trees.0, errors);
    if declines || pays { trees } else { tree }
}

/// A tree on a formula that costs at most so many standard errors more than a plain tree is taken instead: it has fewer parameters
/// for each input, and holds outside the log's range. With 1.0 a plain tree is taken by one of six seeds
/// on 18 configurations of Triton, which loses 89 instead of 18 % above the measured sizes, and a fifth held out loses 2.04 instead of 1.87 %.
const FORMULA_WITHIN_NOISE: f64 = 2.0;

/// With [`Size::Best`] boosted trees on a formula are taken where they cost at most so many standard errors more: of 60 inputs `intel_fma` loses
/// 1.48 instead of 1.71 %, 18 configurations of Triton 4.0 instead of 4.5 (six seeds).
const BOOSTED_ON_FORMULA_WITHIN_NOISE: f64 = 1.0;

/// Without groups, boosted trees must be better than what people read by more than this many standard errors. With 1.0, and 1.645 beside one
/// leaf, SpMV on an MI100 and an MI250X loses 13.8 and 11.9 instead of 9.6 and 8.0 % of 60 inputs (six seeds); with less, noise has
/// boosted trees more often (docs/laboratory.md).
const BOOSTED_BEYOND_NOISE: f64 = 0.75;

/// Boosted trees must save this share of the time beside one tree,
const WORTH_BOOSTING: f64 = 0.005;
/// or this share of what the tree loses.
const WORTH_OF_LOSS: f64 = 0.5;

/// Whether boosted trees that take so much longer than the best choices save enough beside a tree.
fn pays(tree: f64, boosted: f64) -> bool {
    tree >= boosted * (1.0 + WORTH_BOOSTING) || boosted - 1.0 <= (tree - 1.0) * (1.0 - WORTH_OF_LOSS)
}

/// The smallest of these candidates that is as good as the best of them, and the greatest slowdown that counts as such:
/// the best one's and what the size lets it lose. A smaller one within the noise of the difference is as good too.
fn smallest(
    candidates: &[Candidate<'_>],
    of: &[usize],
    size: Size,
    is_within: impl Fn(usize, usize, f64) -> bool,
) -> (usize, f64) {
    let slowdown = |at: usize| candidates[at].slowdown;
    let best = of.iter().copied().min_by(|&a, &b| slowdown(a).total_cmp(&slowdown(b))).unwrap_or(0);
    let is_leaf = |candidate: &Candidate<'_>| candidate.rung.leaves == 1 && !candidate.rung.on_formula;
    let one_leaf = candidates.first().filter(|candidate| is_leaf(candidate));
    let one_leaf = one_leaf.map_or(f64::INFINITY, |candidate| candidate.slowdown);
    let limit = size.greatest_slowdown(slowdown(best), one_leaf);
    // One leaf gets no such favour: where a tree saves it gives the whole gain up, and few inputs would turn the answer over.
    let errors = |at: usize| if is_leaf(&candidates[at]) { 0.0 } else { WITHIN_NOISE };
    let is_enough =
        |at: &usize| slowdown(*at) <= limit || size != Size::Best && is_within(*at, best, errors(*at));
    let chosen = of.iter().copied().find(is_enough).unwrap_or(best);
    (chosen, limit.max(slowdown(chosen)))
}

/// The sizes of trees to try, `whole` the leaves of the largest one.
fn sizes(plan: &TrainPlan, whole: usize) -> Vec<Option<usize>> {
    match plan.settings.max_leaves {
        Some(most) => vec![Some(most)],
        // A program that measures the first choices itself wants all that a leaf can rank.
        None if plan.settings.ranking.is_some() => vec![None],
        None => LEAVES.into_iter().filter(|leaves| *leaves < whole).map(Some).chain([None]).collect(),
    }
}

/// What counts as the cost of a decision.
#[derive(Clone, Copy)]
enum Counted {
    /// The time of what is taken.
    Picks,
    /// The time of the decision too.
    WithAsking,
}

impl Counted {
    /// The figure by which sizes are compared.
    fn by(plan: &TrainPlan) -> Self {
        if plan.counts_asking() { Self::WithAsking } else { Self::Picks }
    }
}

/// The costs by the objective where choices that save at least `margin` are taken.
fn costs(
    held_out: &[JudgedInput],
    table: &Table,
    fallback: ChoiceId,
    margin: f64,
    counted: Counted,
) -> Vec<f64> {
    let cost = |judged: &JudgedInput| {
        let is_taken = judged.saved >= margin && margin < NEVER;
        let taken = if is_taken { judged.ranked(fallback) } else { fallback };
        // A constant asks nothing.
        let overhead = match counted {
            Counted::WithAsking if margin < NEVER => judged.overhead,
            _ => Overhead::default(),
        };
        overhead.cost(table, judged.input, taken, fallback)
    };
    held_out.iter().map(cost).collect()
}

/// The weight of each decision's cost.
fn weights(dataset: &Dataset, held_out: &[JudgedInput]) -> Vec<f64> {
    held_out.iter().map(|held_out| dataset.table.learned_weight(held_out.input)).collect()
}
