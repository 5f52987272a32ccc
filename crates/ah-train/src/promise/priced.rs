//! What decisions cost that folds hold out, by the margin that a choice must save to be taken.

use ah_model::ChoiceId;

use super::calibrate::{NEVER, is_taken};
use crate::data::Dataset;
use crate::decisions::JudgedInput;
use crate::overhead::Overhead;
use crate::plan::TrainPlan;
use crate::search::cross_validation::mean;

/// Decisions with the weights of their costs.
pub struct Priced<'a> {
    /// The data.
    pub dataset: &'a Dataset,
    /// The decisions.
    pub judged: &'a [JudgedInput],
    /// What is taken instead of a choice that does not save the margin.
    pub fallback: ChoiceId,
    /// The weight of each decision's cost.
    pub weights: Vec<f64>,
    /// Whether the time of the decision counts too.
    asks: bool,
}

impl<'a> Priced<'a> {
    /// These decisions, which count as their inputs are learned.
    pub fn new(dataset: &'a Dataset, judged: &'a [JudgedInput], fallback: ChoiceId) -> Self {
        let weights = judged.iter().map(|judged| dataset.table.learned_weight(judged.input)).collect();
        Self { dataset, judged, fallback, weights, asks: true }
    }

    /// The time of what they take alone.
    pub fn of_picks(&self) -> Self {
        Self { asks: false, weights: self.weights.clone(), ..*self }
    }

    /// What sizes are compared by.
    pub fn for_comparison(self, plan: &TrainPlan) -> Self {
        if plan.counts_asking() { self } else { self.of_picks() }
    }

    /// The costs by the objective where choices that save at least `margin` are taken.
    pub fn costs(&self, margin: f64) -> Vec<f64> {
        let fallback = self.fallback;
        // A constant asks nothing.
        let asks = self.asks && margin < NEVER;
        let cost = |judged: &JudgedInput| {
            let taken = if is_taken(judged.saved, margin) { judged.ranked(fallback) } else { fallback };
            let overhead = if asks { judged.overhead } else { Overhead::default() };
            overhead.cost(&self.dataset.table, judged.input, taken, fallback)
        };
        self.judged.iter().map(cost).collect()
    }

    /// The mean of these costs.
    pub fn mean(&self, margin: f64) -> f64 {
        mean(&self.costs(margin), &self.weights)
    }

    /// The mean as what is taken over the best choices.
    pub fn slowdown(&self, margin: f64) -> f64 {
        self.dataset.table.objective.over_best(self.mean(margin))
    }
}
