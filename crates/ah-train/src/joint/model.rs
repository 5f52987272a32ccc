//! The joint model: the log time of a choice on an input, less the input's own level, from numbers of both.

use rayon::prelude::*;

use super::boost::{BoostedTrees, Boosting, ONE, Sample};
use super::columns::{Coding, Column, Numbers, Tiling};
use super::fields::{self, Field};
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

/// What a joint model is learned from.
pub struct Measurements<'a> {
    /// Numbers of the inputs: by feature, then by input.
    pub inputs: Vec<Vec<f64>>,
    /// The choices' names.
    pub choices: &'a [String],
    /// Ascending by input, then by choice.
    pub timings: Vec<Timing>,
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
    inputs: Vec<Vec<f64>>,
    fields: Vec<Field>,
    ranks: Vec<f64>,
    coding: Coding,
    parts: [BoostedTrees; 2],
}

impl JointModel {
    /// Learns from these measurements.
    pub fn fit(measurements: &Measurements<'_>, seed: u64) -> Self {
        let finite: Vec<Timing> =
            measurements.timings.iter().copied().filter(|timing| timing.log_time.is_finite()).collect();
        let choices = measurements.choices.len();
        let inputs = measurements.inputs.first().map_or(0, Vec::len);
        let levels = Levels::new(&finite, inputs, choices);
        let fields = fields::columns(measurements.choices, &levels.choices);
        let ranks = ranks(&levels.choices);
        let numbers = Numbers { inputs: &measurements.inputs, fields: &fields, ranks: &ranks };
        let kept = thinned(&finite, MAX_ROWS, seed);
        let columns = tilings::columns(&numbers, &kept, &levels, seed);
        let coded = Coded::new(columns, &numbers, &kept, &levels);
        let even = vec![1; kept.len()];
        let (broad, residuals) = BROAD.fit(&coded.sample(&coded.targets, &even), seed);
        let weights = coded.weights(&broad, &residuals, &kept);
        let (focused, _) = FOCUSED.fit(&coded.sample(&residuals, &weights), random::mix(seed, 1));
        let coding = coded.coding;
        Self { inputs: measurements.inputs.clone(), fields, ranks, coding, parts: [broad, focused] }
    }

    /// Returns the predicted log times of all choices on an input, less the input's own level.
    pub fn predict(&self, input: u32) -> Vec<f64> {
        let numbers = Numbers { inputs: &self.inputs, fields: &self.fields, ranks: &self.ranks };
        let mut codes = vec![0; self.coding.width()];
        let predict = |choice: u32| {
            self.coding.encode(&numbers, input, choice, &mut codes);
            self.parts.iter().map(|part| part.predict(&codes)).sum()
        };
        (0..self.ranks.len() as u32).map(predict).collect()
    }

    /// Returns [`predict`](Self::predict) for all inputs.
    pub fn predict_all(&self) -> Vec<Vec<f64>> {
        let inputs = self.inputs.first().map_or(0, Vec::len);
        (0..inputs as u32).into_par_iter().map(|input| self.predict(input)).collect()
    }

    /// Returns which field cuts which number of the input into tiles.
    pub fn tilings(&self) -> Vec<Tiling> {
        let single = |column: &Column| match column {
            Column::Tiles(tilings) if tilings.len() == 1 => Some(tilings[0]),
            _ => None,
        };
        self.coding.columns.iter().filter_map(single).collect()
    }

    pub fn columns(&self) -> &[Column] {
        &self.coding.columns
    }
}

/// Timings as rows of codes.
pub(super) struct Coded {
    pub coding: Coding,
    codes: Vec<u8>,
    groups: Vec<u32>,
    pub targets: Vec<i32>,
}

/// Rows that set the bounds of codes.
const CODING_ROWS: usize = 20_000;

impl Coded {
    pub fn new(columns: Vec<Column>, numbers: &Numbers<'_>, timings: &[Timing], levels: &Levels) -> Self {
        let step = timings.len().div_ceil(CODING_ROWS).max(1);
        let pairs: Vec<(u32, u32)> = timings.iter().step_by(step).map(|t| (t.input, t.choice)).collect();
        let coding = Coding::new(columns, numbers, &pairs);
        let width = coding.width();
        let mut codes = vec![0; timings.len() * width];
        codes.par_chunks_exact_mut(width.max(1)).zip(timings).for_each(|(codes, timing)| {
            coding.encode(numbers, timing.input, timing.choice, codes);
        });
        let target = |t: &Timing| ((t.log_time - levels.inputs[t.input as usize]) * ONE).round() as i32;
        Self {
            coding,
            codes,
            groups: timings.iter().map(|timing| timing.input).collect(),
            targets: timings.iter().map(target).collect(),
        }
    }

    pub fn sample<'a>(&'a self, targets: &'a [i32], weights: &'a [u32]) -> Sample<'a> {
        Sample { codes: &self.codes, width: self.coding.width(), groups: &self.groups, targets, weights }
    }

    pub fn codes(&self, row: usize) -> &[u8] {
        let width = self.coding.width();
        &self.codes[row * width..][..width]
    }

    /// Returns how much each row counts: those near the best of their input more.
    fn weights(&self, trees: &BoostedTrees, residuals: &[i32], timings: &[Timing]) -> Vec<u32> {
        let predicted: Vec<f64> =
            (0..timings.len()).into_par_iter().map(|row| trees.predict(self.codes(row))).collect();
        let _ = residuals;
        let mut weights = Vec::with_capacity(timings.len());
        let mut start = 0;
        for group in self.groups.chunk_by(|a, b| a == b) {
            let of = &predicted[start..start + group.len()];
            let best = of.iter().copied().fold(f64::INFINITY, f64::min);
            weights.extend(of.iter().map(|x| 1 + (FOCUS * (-(x - best) / NEAR).exp()).round() as u32));
            start += group.len();
        }
        weights
    }
}

/// Returns at most about `most` of the timings, of each input and choice alike.
pub(super) fn thinned(timings: &[Timing], most: usize, seed: u64) -> Vec<Timing> {
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
