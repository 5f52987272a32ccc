//! What decisions cost that folds hold out, by the margin that a choice must save to be taken.

use ah_model::ChoiceId;

use super::calibrate::{NEVER, is_taken};
use crate::data::Dataset;
use crate::decisions::JudgedInput;
use crate::overhead::Overhead;
use crate::plan::TrainPlan;
use crate::search::cross_validation::mean;

/// What counts as the cost of a decision.
#[derive(Clone, Copy)]
pub enum Counted {
    /// The time of what is taken.
    Picks,
    /// The time of the decision too.
    WithAsking,
}

impl Counted {
    /// The figure by which sizes are compared.
    pub fn by(plan: &TrainPlan) -> Self {
        if plan.counts_asking() { Self::WithAsking } else { Self::Picks }
    }
}

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
}

impl<'a> Priced<'a> {
    /// These decisions, which count as their inputs are learned.
    pub fn new(dataset: &'a Dataset, judged: &'a [JudgedInput], fallback: ChoiceId) -> Self {
        let weights = judged.iter().map(|judged| dataset.table.learned_weight(judged.input)).collect();
        Self { dataset, judged, fallback, weights }
    }

    /// The costs by the objective where choices that save at least `margin` are taken.
    pub fn costs(&self, margin: f64, counted: Counted) -> Vec<f64> {
        let fallback = self.fallback;
        let cost = |judged: &JudgedInput| {
            let taken = if is_taken(judged.saved, margin) { judged.ranked(fallback) } else { fallback };
            // A constant asks nothing.
            let overhead = match counted {
                Counted::WithAsking if margin < NEVER => judged.overhead,
                _ => Overhead::default(),
            };
            overhead.cost(&self.dataset.table, judged.input, taken, fallback)
        };
        self.judged.iter().map(cost).collect()
    }

    /// The mean of these costs.
    pub fn mean(&self, margin: f64, counted: Counted) -> f64 {
        mean(&self.costs(margin, counted), &self.weights)
    }

    /// The mean as what is taken over the best choices.
    pub fn slowdown(&self, margin: f64, counted: Counted) -> f64 {
        self.dataset.table.objective.over_best(self.mean(margin, counted))
    }
}
