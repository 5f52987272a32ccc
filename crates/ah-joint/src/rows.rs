//! Timings as rows of codes: what the trees of a joint model learn from.

use std::ops::Range;

use ah_model::math::exp;
use ah_types::random;
use rayon::prelude::*;

use crate::boost::{BoostedTree, Boosting};
use crate::columns::{Coding, Column, Numbers};
use crate::errors::Errors;
use crate::growth::Codes;
use crate::levels::Timing;

/// Log slowdowns from which on rows count least.
const NEAR: f64 = 0.3;
/// How many times as much the best choices count as the slowest.
const FOCUS: f64 = 16.0;

/// Standard deviation of residuals, in log time, at which an input counts half as much as one without noise.
const NOISE: f64 = 0.05;
/// How many times as much an input without noise counts. A weight is a whole number from 1 on.
const CLEAR: f64 = 4.0;

/// The weight of a timing whose choice is predicted to lose this much, in log time.
pub fn weight(slowdown: f64) -> f64 {
    1.0 + FOCUS * exp(-slowdown / NEAR)
}

/// Timings as rows of codes.
#[derive(Debug)]
pub struct Coded {
    pub coding: Coding,
    /// By column, the code of each row.
    pub codes: Vec<Vec<u16>>,
    /// The rows of each input: the model learns differences within an input only.
    groups: Vec<Range<usize>>,
}

/// The parameters of boosting by this number of trees with at most this number of leaves, each grown from this share of the rows.
pub fn boosting(trees: u64, max_leaves: usize, rate: f64, row_share: f64) -> Boosting {
    Boosting {
        trees,
        max_depth: usize::MAX,
        min_samples_leaf: 10,
        max_leaves,
        rate,
        column_share: 0.7,
        new_column: 1.0,
        row_share,
        shrinkage: 5.0,
    }
}

/// Rows that set the bounds of codes.
const CODING_ROWS: usize = 20_000;

impl Coded {
    /// Codes these timings.
    pub fn new(columns: Vec<Column>, numbers: &Numbers, timings: &[Timing]) -> Self {
        let step = timings.len().div_ceil(CODING_ROWS).max(1);
        let pairs: Vec<(u32, u32)> = timings.iter().step_by(step).map(|t| (t.input, t.choice)).collect();
        let coding = Coding::new(columns, numbers, &pairs);
        let column = |column: usize| {
            timings.iter().map(|t| coding.code(numbers, column, t.input, t.choice)).collect::<Vec<u16>>()
        };
        Self {
            codes: (0..coding.columns.len()).into_par_iter().map(column).collect(),
            groups: groups(timings),
            coding,
        }
    }

    /// Fits trees to these targets. Returns them with what they leave.
    pub fn fit(
        &self,
        boosting: &Boosting,
        targets: impl Iterator<Item = f64>,
        weights: Vec<u32>,
        seed: u64,
    ) -> (Vec<BoostedTree>, Vec<f64>) {
        let rows: Vec<u32> = (0..weights.len() as u32).collect();
        let mut errors =
            Errors::new(1, targets.map(|target| [(0, target)]), weights).within(self.groups.clone());
        let codes = |(at, codes)| Codes { codes, levels: self.coding.levels(at), worth: 1.0 };
        let columns = self.codes.iter().map(Vec::as_slice).enumerate().map(codes).collect();
        let trees = boosting.fit(columns, &rows, &mut errors, seed, |value| value);
        (trees, errors.left().collect())
    }

    /// The weight of each row: those near the best of their input more, and those of an input with much noise less, as
    /// in weighted least squares. Times of 5 us vary by 4 % where those of 50 us vary by 1 %: weighted by it, the best predicted of 32 choices loses 1.0585
    /// instead of 1.0617 (docs/laboratory.md).
    pub fn weights(&self, log_times: &[f64], residuals: &[f64]) -> Vec<u32> {
        let mut weights = Vec::with_capacity(residuals.len());
        for rows in &self.groups {
            // Predictions, but for the level of the input.
            let residuals = &residuals[rows.clone()];
            let of: Vec<f64> = log_times[rows.clone()].iter().zip(residuals).map(|(t, r)| t - r).collect();
            let best = of.iter().copied().fold(f64::INFINITY, f64::min);
            let near: Vec<f64> = of.iter().map(|x| weight(x - best)).collect();
            let clear = clearness(variance(residuals, &near));
            weights.extend(near.into_iter().map(|near| (clear * near).round().max(1.0) as u32));
        }
        weights
    }
}

/// The rows of each input.
fn groups(timings: &[Timing]) -> Vec<Range<usize>> {
    let mut end = 0;
    let rows = |group: &[Timing]| {
        let start = end;
        end += group.len();
        start..end
    };
    timings.chunk_by(|a, b| a.input == b.input).map(rows).collect()
}

/// The weight of an input whose residuals have this variance.
fn clearness(variance: f64) -> f64 {
    CLEAR * NOISE.powi(2) / (NOISE.powi(2) + variance)
}

/// The weighted variance of residuals, in log time.
fn variance(residuals: &[f64], weights: &[f64]) -> f64 {
    let mean = |of: &dyn Fn(f64) -> f64| {
        let sum: f64 = residuals.iter().zip(weights).map(|(x, weight)| weight * of(*x)).sum();
        sum / weights.iter().sum::<f64>()
    };
    let centre = mean(&|x| x);
    mean(&|x| (x - centre).powi(2))
}

/// At most about `most` of the timings, of each input and choice alike.
pub fn thinned(timings: &[Timing], most: usize, seed: u64) -> Vec<Timing> {
    let share = most as f64 / timings.len().max(1) as f64;
    let kept = |t: &&Timing| {
        let id = u64::from(t.input) << 32 | u64::from(t.choice);
        random::fraction(seed, id) < share
    };
    timings.iter().filter(kept).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_with_more_noise_counts_less() {
        let residuals = |noise: f64| [1.0, -1.0, 1.0, -1.0].map(|x: f64| 3.0 + x * noise);
        let of = |noise: f64| clearness(variance(&residuals(noise), &[17.0, 1.0, 1.0, 17.0]));
        // The level of an input is no noise.
        assert!((of(0.0) - CLEAR).abs() < 1e-3);
        assert!((of(NOISE) - CLEAR / 2.0).abs() < 1e-3);
        assert!(of(0.3) < 0.15);
    }
}
