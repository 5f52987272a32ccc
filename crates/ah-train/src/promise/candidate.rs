//! A model of one size: its margin, and what it loses on the inputs that folds hold out.

use std::sync::Arc;

use ah_model::{ChoiceId, Model};
use serde::Serialize;

use super::calibrate::{ALWAYS, Look, Margin, NEVER};
use super::folds::{CrossFitted, Folds, HeldOut};
use super::priced::Priced;
use super::recipe::{Fitted, Recipe, View};
use crate::search::cross_validation::mean;

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

/// A size before one is taken.
pub struct Candidate<'c> {
    /// What it was learned by.
    pub recipe: Recipe<'c>,
    /// The ensemble of this size from all inputs.
    pub fitted: Fitted,
    /// What those from the folds decide.
    pub held_out: HeldOut,
    /// Its margin.
    pub margin: Margin,
    /// By decision, its cost at the margin as it is compared,
    pub costs: Vec<f64>,
    /// and what they are over the best choices.
    pub slowdown: f64,
    /// The size and its figures.
    pub rung: Rung,
}

impl<'c> Candidate<'c> {
    /// The size of `recipe`, under this promise.
    pub fn new(recipe: Recipe<'c>, folds: &Folds<'_>, fitted: &CrossFitted, look: Option<Look>) -> Self {
        let held_out = folds.decide(&recipe, fitted);
        let margin = recipe.margin(folds, &held_out, look);
        let least = margin.least;
        let priced = Priced::new(recipe.dataset, &held_out.decisions, folds.fallback);
        let asked = priced.slowdown(least);
        let asking: Vec<f64> = held_out.decisions.iter().map(|judged| judged.overhead.ms).collect();
        let fitted = recipe.sized(&fitted.whole);
        let ensemble = &fitted.ensemble;
        let rung = Rung {
            leaves: ensemble.tree.leaves(),
            boosted_trees: ensemble.boosters.trees.len(),
            on_formula: ensemble.formula.is_some(),
            slowdown: asked,
            slowdown_of_picks: priced.of_picks().slowdown(least),
            speedup: priced.slowdown(NEVER) / asked,
            asking_ms: if least == NEVER { 0.0 } else { mean(&asking, &priced.weights) },
            most: recipe.max_leaves,
            decides: least != NEVER,
        };
        let compared = priced.for_comparison(recipe.plan);
        let costs = compared.costs(least);
        let slowdown = compared.slowdown(least);
        Self { recipe, fitted, held_out, margin, costs, slowdown, rung }
    }
}

impl Recipe<'_> {
    /// Learns a heuristic of this rung from these inputs, with a promise if the plan has one. Returns its margin too.
    pub fn learn(&self, inputs: &[u32], rung: &Rung) -> (Model, Margin) {
        let Some(&look) = self.plan.looks.first() else {
            let least = if rung.decides { ALWAYS } else { NEVER };
            return (self.learn_without_promise(inputs, least), Margin { least, promise: None });
        };
        let view = Arc::new(View::new(self.dataset, self.plan, inputs, self.configuration.on_formula));
        let folds = Folds::new(self.dataset, self.plan, inputs, &view);
        let fitted = folds.fit(self);
        let margin = self.margin(&folds, &folds.decide(self, &fitted), Some(look));
        (self.promising(&self.sized(&fitted.whole), folds.fallback, &margin), margin)
    }

    /// The margin that a heuristic gets: with a promise that the inputs cannot show it never decides, and without a promise
    /// always, unless the fallback alone loses less.
    fn margin(&self, folds: &Folds<'_>, held_out: &HeldOut, look: Option<Look>) -> Margin {
        if let Some(look) = look {
            let calibrated = folds.calibration(self, held_out).walk(self.plan.promise, look);
            return calibrated.unwrap_or(Margin { least: NEVER, promise: None });
        }
        let priced = Priced::new(self.dataset, &held_out.decisions, folds.fallback).for_comparison(self.plan);
        let [always, never] = [ALWAYS, NEVER].map(|margin| priced.mean(margin));
        // A ranking has other uses.
        let falls_back = self.plan.settings.ranking.is_none() && always > never;
        Margin { least: if falls_back { NEVER } else { ALWAYS }, promise: None }
    }

    /// The model of an ensemble at this margin, with its promise.
    pub fn promising(&self, fitted: &Fitted, fallback: ChoiceId, margin: &Margin) -> Model {
        Model { promise: margin.promise.clone(), ..self.model(fitted, fallback, margin.least) }
    }
}
