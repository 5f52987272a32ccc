//! The joint model: the log time of a choice on an input, less the input's own level, from numbers of both.

use ah_types::ChoiceId;
use rayon::prelude::*;

use crate::boost::{BoostedTrees, Boosting, ONE};
use crate::columns::{Coding, Numbers};
use crate::failures::Failures;
use crate::fields;
use crate::levels::Levels;
use crate::rows::{Coded, NEAR_WEIGHT, Timing, thinned};
use crate::tilings;
use ah_types::random;

/// Most timings to learn from.
const MAX_ROWS: usize = 150_000;
const BROAD: Boosting =
    Boosting { trees: 60, leaves: 48, min_rows: 10, rate: 0.2, row_share: 0.6, column_share: 0.7 };
const FOCUSED: Boosting =
    Boosting { trees: 120, leaves: 48, min_rows: 10, rate: 0.12, row_share: 0.6, column_share: 0.7 };

/// Choices that are expected to lose more than this, in log time, are not worth timing.
const WORTH: f64 = 0.3;

/// Most fits whose predictions are averaged.
const MAX_FITS: usize = 8;
/// A fit leaves out one timing of this many, to know its error.
const FOLDS: u64 = 10;
/// Fits × cells to predict at most, so that averaging takes seconds.
const MAX_PREDICTIONS: usize = 1_200_000;

/// A learned joint model.
#[derive(Debug)]
pub struct JointModel {
    numbers: Numbers,
    coding: Coding,
    /// Of each fit the broad trees, then those that focus on the fast choices.
    fits: Vec<[BoostedTrees; 2]>,
    failures: Option<Failures>,
    /// Log times less predictions, of timings near the best that their fit did not learn from.
    errors: Vec<f64>,
}

impl JointModel {
    /// Learns from these timings, ascending by input. `inputs` are the numbers of all inputs, by feature.
    pub fn fit(inputs: Vec<Vec<f64>>, choices: &[String], timings: &[Timing], seed: u64) -> Self {
        let finite: Vec<Timing> =
            timings.iter().copied().filter(|timing| timing.log_time.is_finite()).collect();
        let levels = Levels::new(&finite, inputs.first().map_or(0, Vec::len), choices.len());
        let fields = fields::columns(choices, &levels.choices);
        let numbers = Numbers { inputs, fields, ranks: ranks(&levels.choices) };
        let kept = thinned(&finite, MAX_ROWS, seed);
        let columns = tilings::columns(&numbers, &kept, &levels, seed);
        let fit_failures = || Failures::fit(&numbers, &columns, timings, seed);
        let folds = random::mix(seed, 9);
        let fit_times = || {
            let target = |t: &Timing| t.log_time - levels.inputs[t.input as usize];
            let coded = Coded::new(columns.clone(), &numbers, &kept, target);
            let fit = |number: u64| {
                let seed = random::mix(seed, 10 + number);
                let is_left_out = |row: usize| random::mix(folds, row as u64) % FOLDS == number % FOLDS;
                let counts = |row: usize| u32::from(!is_left_out(row));
                let even: Vec<u32> = (0..kept.len()).map(counts).collect();
                let (broad, residuals) = BROAD.fit(&coded.sample(&coded.targets, &even), seed);
                let near = coded.weights(&broad);
                let weights: Vec<u32> = near.iter().zip(&even).map(|(near, counts)| near * counts).collect();
                let (focused, residuals) = FOCUSED.fit(&coded.sample(&residuals, &weights), random::mix(seed, 1));
                let unseen = (0..kept.len()).filter(|row| is_left_out(*row) && near[*row] >= NEAR_WEIGHT);
                let errors: Vec<f64> = unseen.map(|row| f64::from(residuals[row]) / ONE).collect();
                ([broad, focused], errors)
            };
            let cells = levels.inputs.len() * choices.len();
            let count = (MAX_ROWS / kept.len().max(1)).min(MAX_PREDICTIONS / cells.max(1)).clamp(1, MAX_FITS);
            let (fits, errors): (Vec<_>, Vec<_>) = (0..count as u64).into_par_iter().map(fit).unzip();
            (coded.coding, fits, errors.concat())
        };
        let ((coding, fits, errors), failures) = rayon::join(fit_times, fit_failures);
        Self { numbers, coding, fits, failures, errors }
    }

    /// Returns the predicted log time of a choice on an input, less the input's own level.
    pub fn predict(&self, input: u32, choice: u32) -> f64 {
        let mut codes = vec![0; self.coding.width()];
        self.coding.encode(&self.numbers, input, choice, &mut codes);
        let sum: f64 = self.fits.iter().flatten().map(|trees| trees.predict(&codes)).sum();
        sum / self.fits.len() as f64
    }

    /// Returns an error of a prediction near the best, in log time: one of those that were seen, by a random number.
    pub fn error(&self, random: u64) -> f64 {
        let at = random.checked_rem(self.errors.len() as u64);
        at.map_or(0.0, |at| self.errors[at as usize])
    }

    /// Returns at most `most` choices of an input that are worth timing: those that are fastest if each prediction has a
    /// [random error](Self::error) (Thompson, 1933). So a choice whose time is predicted too long is tried too. `seed` draws
    /// the errors, and `may` leaves choices out.
    pub fn worth_timing(&self, input: u32, most: usize, seed: u64, may: impl Fn(u32) -> bool) -> Vec<u32> {
        let choices = (0..self.numbers.ranks.len() as u32).filter(|choice| !self.fails(input, *choice));
        let times: Vec<(u32, f64)> = choices.map(|choice| (choice, self.predict(input, choice))).collect();
        let best = times.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
        let worth = times.into_iter().filter(|(choice, time)| time - best <= WORTH && may(*choice));
        let drawn = |(choice, time): (u32, f64)| (choice, time + self.error(random::mix(seed, u64::from(choice))));
        let mut worth: Vec<(u32, f64)> = worth.map(drawn).collect();
        worth.sort_by(|a, b| a.1.total_cmp(&b.1));
        worth.into_iter().take(most).map(|(choice, _)| choice).collect()
    }

    /// Returns the `most` choices that are fastest on average, ascending.
    pub fn fastest(&self, most: usize) -> Vec<ChoiceId> {
        let ranks = self.numbers.ranks.iter().enumerate().filter(|(_, rank)| **rank < most as f64);
        ranks.map(|(choice, _)| ChoiceId(choice as u32)).collect()
    }

    /// Returns whether a choice is expected to fail on an input.
    pub fn fails(&self, input: u32, choice: u32) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.fails(&self.numbers, input, choice))
    }
}

/// Returns the rank of each choice by its effect.
fn ranks(effects: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..effects.len()).collect();
    order.sort_by(|&a, &b| effects[a].total_cmp(&effects[b]).then(a.cmp(&b)));
    let mut ranks = vec![0.0; effects.len()];
    order.iter().enumerate().for_each(|(rank, &choice)| ranks[choice] = rank as f64);
    ranks
}
