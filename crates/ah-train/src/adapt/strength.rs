//! How much the old scores weigh against new times: chosen by cross-validation.

use rayon::prelude::*;

use super::correction::{Correction, Strength};
use super::transfer::Transfer;

/// The strengths to try. A large weight at the root alone is a device where all leaves shift alike; small ones are a
/// device that resembles the old one little.
const ROOT: [f64; 2] = [3.0, 30.0];
const NODE: [f64; 6] = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0];
const FOLDS: usize = 5;
/// An error counts up to this.
const MOST: f64 = 1.0;

impl Strength {
    /// Returns the strength whose corrected scores predict the times of held-out inputs with the least squared error.
    /// That is smoother than the loss of the decisions: with 200 inputs, choosing by the loss loses 0.002 to 0.004
    /// more on average.
    pub fn choose(transfer: &Transfer<'_>, inputs: &[usize]) -> Self {
        let strengths = ROOT.iter().flat_map(|&root| NODE.iter().map(move |&node| Self { root, node }));
        let mut tried: Vec<(f64, Self)> = strengths.map(|strength| (0.0, strength)).collect();
        tried.par_iter_mut().for_each(|(error, strength)| *error = strength.error(transfer, inputs));
        let best = tried.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(Self { root: ROOT[1], node: NODE[3] }, |(_, strength)| *strength)
    }

    fn error(self, transfer: &Transfer<'_>, inputs: &[usize]) -> f64 {
        (0..FOLDS)
            .map(|fold| {
                let (training, held_out) = part(inputs, fold, FOLDS);
                let correction = Correction::new(transfer, &training, self);
                held_out.iter().map(|&at| error(transfer, &correction, at)).sum::<f64>()
            })
            .sum()
    }
}

/// Returns the positions of the inputs that a fold trains on, and of those it holds out.
pub fn part(inputs: &[usize], fold: usize, folds: usize) -> (Vec<usize>, Vec<usize>) {
    let mut parts = (Vec::new(), Vec::new());
    for (position, &at) in inputs.iter().enumerate() {
        if position % folds == fold { parts.1.push(at) } else { parts.0.push(at) }
    }
    parts
}

/// Returns the mean squared error of an input's log times, but for a common shift.
fn error(transfer: &Transfer<'_>, correction: &Correction, at: usize) -> f64 {
    let input = &transfer.inputs[at];
    let Some(reached) = &input.reached else { return 0.0 };
    let misses = input.cells.iter().zip(&reached.scores).filter_map(|(cell, score)| {
        let corrected = (*score)? + correction.of(transfer, reached.leaf, cell.choice);
        Some(cell.log_slowdown - corrected)
    });
    let misses: Vec<f64> = misses.collect();
    let mean = misses.iter().sum::<f64>() / misses.len().max(1) as f64;
    let squares = misses.iter().map(|miss| (miss - mean).clamp(-MOST, MOST).powi(2));
    squares.sum::<f64>() / misses.len().max(1) as f64
}
