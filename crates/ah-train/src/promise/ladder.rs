//! The ladder: models of a few sizes, from one leaf to boosted trees, compared on the inputs that folds hold out.
//!
//! Each rung is judged by its net loss: under the promise if there is one, and with the time of its decisions and of the
//! features that it uses, except with [`Size::Best`], which compares the picks alone. Boosted trees are not grown where a tree loses
//! at most [`GOOD_ENOUGH`].

use std::cell::OnceCell;
use std::sync::Arc;

use ah_model::Model;
use serde::Serialize;

use super::calibrate::{ALWAYS, Look, is_taken};
use super::candidate::{Candidate, Rung};
use super::choose::{Taken, WORTH_OF_LOSS, choose};
use super::folds::{CrossFitted, Folds};
use super::new_groups::NewGroups;
use super::priced::Priced;
use super::recipe::Recipe;
use crate::decisions::JudgedInput;
use crate::learners::{Boosting, CostTree, ResidualTree, SharpTree};
use crate::params::{Params, Size};
use crate::plan::TrainPlan;
use crate::search::Configuration;

/// Leaves of the small trees. The last rung of trees is the whole one.
const LEAVES: [usize; 4] = [1, 4, 16, 64];

/// A tree that loses less needs no boosted trees beside it: they would take most of the learning time to gain less than this.
pub const GOOD_ENOUGH: f64 = 0.005;

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

/// A learner, and its ensembles once they are asked for.
struct Tried {
    configuration: Configuration,
    fitted: OnceCell<CrossFitted>,
}

impl Tried {
    /// A candidate for each size, under this promise.
    fn candidates<'c>(
        &'c self,
        recipe: &Recipe<'c>,
        folds: &Folds<'_>,
        look: Option<Look>,
    ) -> Vec<Candidate<'c>> {
        let recipe = Recipe { configuration: &self.configuration, ..*recipe };
        let fitted = self.fitted.get_or_init(|| folds.fit(&recipe));
        let of_size = |max_leaves| Candidate::new(Recipe { max_leaves, ..recipe }, folds, fitted, look);
        let sizes = self.sizes(recipe.plan, fitted.whole.ensemble.tree.leaves());
        let mut candidates: Vec<Candidate<'c>> = sizes.into_iter().map(of_size).collect();
        // Pruning may skip sizes.
        candidates.dedup_by_key(|candidate| candidate.rung.leaves);
        candidates
    }

    /// The most leaves of the trees to try, where the largest one has `whole`.
    fn sizes(&self, plan: &TrainPlan, whole: usize) -> Vec<Option<usize>> {
        let Configuration { boost, on_formula, .. } = &self.configuration;
        match plan.settings.max_leaves {
            _ if boost.is_some() || *on_formula => vec![None],
            Some(most) => vec![Some(most)],
            // A program that measures the first choices itself wants all that a leaf can rank.
            None if plan.settings.ranking.is_some() => vec![None],
            None => LEAVES.into_iter().filter(|leaves| *leaves < whole).map(Some).chain([None]).collect(),
        }
    }
}

/// Learns models of each size from the inputs of these folds, with the tree of `recipe` and its boosted trees, and takes one: for the
/// first promise of the plan under which something is faster than the fallback, or else for the first one. Where that promise is costly,
/// a later one that saves much of its price is made instead.
pub fn choose_size(recipe: &Recipe<'_>, folds: &Folds<'_>) -> SizeChoice {
    let Recipe { dataset, plan, .. } = *recipe;
    let is_tree = plan.learner.row().boosting != Boosting::Always;
    let tried = |configuration| Tried { configuration, fitted: OnceCell::new() };
    let tree = is_tree.then(|| tried(recipe.configuration.clone()));
    let sharp = sharp_tree(plan).map(tried);
    let boosted = boosted(plan, recipe.configuration);
    let on_formula = boosted.clone().map(Configuration::on_formula);
    let larger = [vec![tree_on_formula(plan)], vec![boosted, on_formula]];
    let larger = larger.map(|larger| larger.into_iter().flatten().map(tried).collect::<Vec<_>>());
    let formula_folds: OnceCell<Option<Folds<'_>>> = OnceCell::new();
    let folds_of = |tried: &Tried| match tried.configuration.on_formula {
        true => formula_folds.get_or_init(|| folds.on_formula(dataset, plan)).as_ref(),
        false => Some(folds),
    };
    let good_enough = if plan.size == Size::Default { GOOD_ENOUGH } else { plan.size.tolerance() };
    let mut first: Option<SizeChoice> = None;
    for look in plan.looks.iter().copied().map(Some).chain(plan.looks.is_empty().then_some(None)) {
        let mut candidates = tree.as_ref().map_or_else(Vec::new, |tree| tree.candidates(recipe, folds, look));
        let leaf = candidates.first().map_or(0.0, |leaf| leaf.slowdown);
        if let Some(sharp) = &sharp
            && candidates.iter().all(|tree| tree.slowdown >= leaf.max(1.0 + GOOD_ENOUGH))
        {
            // Noise leaves no tree that loses so little.
            let least = (1.0 + (leaf - 1.0) * (1.0 - WORTH_OF_LOSS)).min(1.0 + GOOD_ENOUGH);
            let sharp = sharp.candidates(recipe, folds, look).into_iter();
            candidates.extend(sharp.filter(|tree| tree.slowdown <= least));
        }
        for larger in &larger {
            if !candidates.iter().any(|candidate| candidate.slowdown <= 1.0 + good_enough) {
                let larger = larger.iter().filter_map(|tried| Some((tried, folds_of(tried)?)));
                candidates.extend(larger.flat_map(|(tried, folds)| tried.candidates(recipe, folds, look)));
            }
        }
        let lines = |rung: &Rung| rung.leaves + if rung.on_formula { FORMULA_AS_LEAVES } else { 0 };
        candidates.sort_by_key(|candidate| (candidate.rung.boosted_trees, lines(&candidate.rung)));
        let Taken { at: chosen, accepted } = choose(&candidates, look);
        let Candidate { recipe, rung, fitted, margin, held_out, .. } = &candidates[chosen];
        let fallback = folds.fallback;
        let priced = Priced::new(dataset, &held_out.decisions, fallback);
        let is_costly = priced.slowdown(ALWAYS) < rung.slowdown * (1.0 - COSTLY);
        let kept = first.as_ref().filter(|kept| kept.ladder.rung().speedup > 1.0);
        let stricter = kept.and_then(|kept| {
            let takes = rung.speedup / kept.ladder.rung().speedup;
            Some(StricterPromise { share: kept.look?.share, takes })
        });
        let saves = stricter.is_none_or(|stricter| stricter.takes * (1.0 - COSTLY) > 1.0);
        let at_margin = |judged: &JudgedInput| match is_taken(judged.saved, margin.least) {
            true => judged.clone(),
            false => JudgedInput::constant(judged.input, fallback),
        };
        if first.is_none() || rung.speedup > 1.0 && saves {
            let rungs = candidates.iter().map(|candidate| candidate.rung.clone()).collect();
            first = Some(SizeChoice {
                ladder: Ladder { rungs, chosen, accepted },
                configuration: recipe.configuration.clone(),
                model: recipe.promising(fitted, fallback, margin),
                always: recipe.model(fitted, fallback, ALWAYS),
                look,
                stricter,
                on_new_groups: NewGroups::new(
                    &Priced::new(dataset, &held_out.by_group, fallback),
                    margin.least,
                ),
                cross_validated: held_out.decisions.iter().map(at_margin).collect(),
            });
        }
        if rung.speedup > 1.0 && !is_costly {
            break;
        }
    }
    first.expect("there is a promise to look at, or none")
}

/// A formula is as long as a tree of this many leaves. A larger tree that is hardly better does not extrapolate.
const FORMULA_AS_LEAVES: usize = 16;

/// The tree to try where no other one is better than one leaf.
fn sharp_tree(plan: &TrainPlan) -> Option<Configuration> {
    let row = plan.learner.row();
    let is_other = !row.has_variants || row.boosting == Boosting::Always;
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
    if plan.promises() || ranking.is_some() || learner.boosting == Boosting::Always || !learner.has_variants {
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
