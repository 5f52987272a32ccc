//! The joint model: the log time of a choice on an input, less the input's own level, from numbers of both.

use ah_types::ChoiceId;
use rayon::prelude::*;

use super::boost::{BoostedTrees, Boosting, ONE, Sample};
use super::columns::{Coding, Column, Numbers};
use super::failures::Failures;
use super::fields;
use super::levels::Levels;
use super::tilings;
use crate::data::random;

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

/// Most timings to learn from.
const MAX_ROWS: usize = 150_000;
/// Log slowdowns from which on rows count least.
const NEAR: f64 = 0.3;
/// How many times as much the best choices count as the slowest.
const FOCUS: f64 = 16.0;

const BROAD: Boosting =
    Boosting { trees: 60, leaves: 48, min_rows: 10, rate: 0.2, row_share: 0.6, column_share: 0.7 };
const FOCUSED: Boosting =
    Boosting { trees: 120, leaves: 48, min_rows: 10, rate: 0.12, row_share: 0.6, column_share: 0.7 };

/// A learned joint model.
pub struct JointModel {
    numbers: Numbers,
    coding: Coding,
    parts: [BoostedTrees; 2],
    failures: Option<Failures>,
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
        let fit_times = || {
            let target = |t: &Timing| t.log_time - levels.inputs[t.input as usize];
            let coded = Coded::new(columns.clone(), &numbers, &kept, target);
            let even = vec![1; kept.len()];
            let (broad, residuals) = BROAD.fit(&coded.sample(&coded.targets, &even), seed);
            let weights = coded.weights(&broad);
            let (focused, _) = FOCUSED.fit(&coded.sample(&residuals, &weights), random::mix(seed, 1));
            (coded.coding, [broad, focused])
        };
        let ((coding, parts), failures) = rayon::join(fit_times, fit_failures);
        Self { numbers, coding, parts, failures }
    }

    /// Returns the predicted log time of a choice on an input, less the input's own level.
    pub fn predict(&self, input: u32, choice: u32) -> f64 {
        let mut codes = vec![0; self.coding.width()];
        self.coding.encode(&self.numbers, input, choice, &mut codes);
        self.parts.iter().map(|part| part.predict(&codes)).sum()
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

/// Returns how much a timing counts whose choice is predicted to lose this much, in log time.
pub fn weight(slowdown: f64) -> f64 {
    1.0 + FOCUS * (-slowdown / NEAR).exp()
}

/// Timings as rows of codes.
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
    fn weights(&self, trees: &BoostedTrees) -> Vec<u32> {
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

/// Returns the rank of each choice by its effect.
fn ranks(effects: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..effects.len()).collect();
    order.sort_by(|&a, &b| effects[a].total_cmp(&effects[b]).then(a.cmp(&b)));
    let mut ranks = vec![0.0; effects.len()];
    order.iter().enumerate().for_each(|(rank, &choice)| ranks[choice] = rank as f64);
    ranks
}
