//! What a promise costs: the loss on the inputs that calibrate it, out of fold, the decision included.

use ah_types::ChoiceId;

use super::calibrate::{step, steps_up_to};
use crate::data::Table;
use crate::overhead::Overhead;
use crate::tree::ScoredChoice;

/// The summed loss of some inputs at each step of the grid.
pub struct LossCurve {
    /// By step, how much the summed loss changes there.
    changes: Vec<f64>,
    fallback: f64,
    weight: f64,
}

impl LossCurve {
    /// Returns the curve of no input.
    pub fn new() -> Self {
        Self { changes: vec![0.0; steps_up_to(f64::INFINITY) + 1], fallback: 0.0, weight: 0.0 }
    }

    /// Adds an input with this ranking, where asking takes `overhead`.
    pub fn add(
        &mut self,
        ranking: &[ScoredChoice],
        table: &Table,
        input: u32,
        fallback: ChoiceId,
        overhead: &Overhead,
    ) {
        let weight = table.cost_weight(input);
        let net = |choice| weight * overhead.cost(table, input, choice, fallback);
        self.weight += weight;
        // A program without a heuristic asks nothing.
        self.fallback += weight * table.cost(input, fallback, fallback);
        let base = net(fallback);
        // From the boldest step down: the best choice that is allowed, in the end none.
        let mut end = self.changes.len() - 1;
        for ranked in ranking {
            let start = step(ranked.ratio);
            if start < end {
                let loss = net(ranked.choice);
                self.changes[start] += loss;
                self.changes[end] -= loss;
                end = start;
            }
        }
        self.changes[0] += base;
        self.changes[end] -= base;
    }

    /// Adds the inputs of another curve.
    pub fn merge(&mut self, other: &Self) {
        self.changes.iter_mut().zip(&other.changes).for_each(|(sum, change)| *sum += change);
        self.fallback += other.fallback;
        self.weight += other.weight;
    }

    /// Returns the mean loss where choices up to this ratio are allowed.
    pub fn at(&self, threshold: f64) -> f64 {
        self.changes[..steps_up_to(threshold)].iter().sum::<f64>() / self.weight.max(f64::MIN_POSITIVE)
    }

    /// Returns the mean loss of always taking the fallback.
    pub fn of_fallback(&self) -> f64 {
        self.fallback / self.weight.max(f64::MIN_POSITIVE)
    }
}

/// What a promise costs, in mean costs of the objective on the inputs that calibrated it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromisePrice {
    /// Of the fallback, which asks nothing.
    pub fallback: f64,
    /// Of always deciding.
    pub always: f64,
    /// Of the heuristic.
    pub promised: f64,
    /// The first looser share that costs at most [`DEAR`] of the gain, and its loss.
    pub looser: Option<(f64, f64)>,
}

/// A promise is dear if it costs more than this share of the gain.
pub const DEAR: f64 = 1.0 / 3.0;

/// Shares that may be promised in the place of a dear one.
pub const LOOSER: [f64; 4] = [0.02, 0.05, 0.1, 0.2];

impl PromisePrice {
    /// Returns what always deciding saves over the fallback.
    pub fn gain(&self) -> f64 {
        self.fallback - self.always
    }

    /// Returns the share of the gain that a heuristic with this loss gives up.
    pub fn share(&self, loss: f64) -> f64 {
        if self.gain() > 0.0 { (loss - self.always) / self.gain() } else { 0.0 }
    }

    /// Returns whether the promise costs more than [`DEAR`] of the gain.
    pub fn is_dear(&self) -> bool {
        self.share(self.promised) > DEAR
    }
}
