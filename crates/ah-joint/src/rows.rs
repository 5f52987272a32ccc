//! Timings as rows of codes: what the trees of a joint model learn from.

use rayon::prelude::*;

use crate::boost::{BoostedTrees, ONE, Sample};
use crate::columns::{Coding, Column, Numbers};
use ah_types::random;

/// One timing: of a choice on an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The position of the input.
    pub input: u32,
    /// The position of the choice.
    pub choice: u32,
    /// `ln(milliseconds)`; infinite where the choice failed.
    pub log_time: f64,
}

/// Log slowdowns from which on rows count least.
const NEAR: f64 = 0.3;
/// How many times as much the best choices count as the slowest.
const FOCUS: f64 = 16.0;

/// Returns how much a timing counts whose choice is predicted to lose this much, in log time.
pub fn weight(slowdown: f64) -> f64 {
    1.0 + FOCUS * (-slowdown / NEAR).exp()
}

/// Timings as rows of codes.
#[derive(Debug)]
pub struct Coded {
    pub coding: Coding,
    codes: Vec<u8>,
    groups: Vec<u32>,
    pub targets: Vec<i32>,
}

/// Rows that set the bounds of codes.
const CODING_ROWS: usize = 20_000;

impl Coded {
    /// Codes these timings; `target` is what to predict.
    pub fn new(
        columns: Vec<Column>,
        numbers: &Numbers,
        timings: &[Timing],
        target: impl Fn(&Timing) -> f64,
    ) -> Self {
        let step = timings.len().div_ceil(CODING_ROWS).max(1);
        let pairs: Vec<(u32, u32)> = timings.iter().step_by(step).map(|t| (t.input, t.choice)).collect();
        let coding = Coding::new(columns, numbers, &pairs);
        let width = coding.width();
        let mut codes = vec![0; timings.len() * width];
        codes.par_chunks_exact_mut(width.max(1)).zip(timings).for_each(|(codes, timing)| {
            coding.encode(numbers, timing.input, timing.choice, codes);
        });
        Self {
            coding,
            codes,
            groups: timings.iter().map(|timing| timing.input).collect(),
            targets: timings.iter().map(|timing| (target(timing) * ONE).round() as i32).collect(),
        }
    }

    /// The rows to learn from.
    pub fn sample<'a>(&'a self, targets: &'a [i32], weights: &'a [u32]) -> Sample<'a> {
        Sample { codes: &self.codes, width: self.coding.width(), groups: &self.groups, targets, weights }
    }

    /// Returns how much each row counts: those near the best of their input more.
    pub fn weights(&self, trees: &BoostedTrees) -> Vec<u32> {
        let width = self.coding.width();
        let predict = |row: usize| trees.predict(&self.codes[row * width..][..width]);
        let predicted: Vec<f64> = (0..self.groups.len()).into_par_iter().map(predict).collect();
        let mut weights = Vec::with_capacity(predicted.len());
        for group in self.groups.chunk_by(|a, b| a == b) {
            let of = &predicted[weights.len()..][..group.len()];
            let best = of.iter().copied().fold(f64::INFINITY, f64::min);
            weights.extend(of.iter().map(|x| weight(x - best).round() as u32));
        }
        weights
    }
}

/// Returns at most about `most` of the timings, of each input and choice alike.
pub fn thinned(timings: &[Timing], most: usize, seed: u64) -> Vec<Timing> {
    let share = most as f64 / timings.len().max(1) as f64;
    let kept = |t: &&Timing| {
        let id = u64::from(t.input) << 32 | u64::from(t.choice);
        random::fraction(seed, id) < share
    };
    timings.iter().filter(kept).copied().collect()
}
