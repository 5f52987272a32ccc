//! Finds which field of the choice cuts which number of the input into tiles.
//!
//! A tile that is larger than what is left of the input does work for nothing: where `size` tiles `x`, the log time rises
//! with `ln(size * ceil(x / size) / x)`. So the part of the log times that neither input nor choice explains is regressed on
//! these terms, one after the other; then trees with and without the tiles are compared on inputs that did not grow them.

use crate::boost::Boosting;
use crate::columns::{Column, Numbers, Tiling};
use crate::fields::Field;
use crate::levels::{Levels, Timing};
use crate::rows::{Coded, thinned};
use ah_types::random;

/// Timings to try candidates on.
const ROWS: usize = 20_000;
/// Most numbers of inputs that products are made of.
const MAX_INPUTS: usize = 6;
/// Most tilings.
const MAX_TILINGS: usize = 6;
/// The share of what is left of the variance that a tiling must explain.
const LEAST_SHARE: f64 = 0.005;

/// Most columns: those that lower the error of the trial trees most.
const MAX_COLUMNS: usize = 28;

const TRIAL: Boosting =
    Boosting { trees: 40, leaves: 31, min_rows: 10, rate: 0.2, row_share: 1.0, column_share: 0.7 };

/// Returns the columns of the joint model.
pub fn columns(numbers: &Numbers, timings: &[Timing], levels: &Levels, seed: u64) -> Vec<Column> {
    let plain = plain(numbers);
    let trial = thinned(timings, ROWS, random::mix(seed, 2));
    let tilings = regressed(numbers, &trial);
    if tilings.is_empty() {
        return plain;
    }
    let tiles = tilings.iter().flat_map(|&tiling| [Column::Tiles(vec![tiling]), Column::Fill(tiling)]);
    let with: Vec<Column> = plain.iter().cloned().chain(tiles).chain(products(&tilings)).collect();
    let (learning, judging): (Vec<Timing>, Vec<Timing>) =
        trial.iter().partition(|t| random::fraction(random::mix(seed, 3), u64::from(t.input)) < 0.7);
    let trial = |columns: &[Column]| Trial::new(columns.to_vec(), numbers, &learning, &judging, levels, seed);
    let (with, without) = rayon::join(|| trial(&with), || trial(&plain));
    if with.error < without.error { with.most_useful() } else { plain }
}

/// Returns the tilings that explain the log times, the best first: at most one for each number of the input.
fn regressed(numbers: &Numbers, timings: &[Timing]) -> Vec<Tiling> {
    let mut left = interactions(numbers, timings, |t| t.log_time);
    let waste = |tiling: &Tiling| {
        let fill = |t: &Timing| numbers.value(&Column::Fill(*tiling), t.input as usize, t.choice as usize);
        interactions(numbers, timings, |t| -finite(fill(t).ln()))
    };
    let mut candidates: Vec<(Tiling, Vec<f64>)> =
        candidates(numbers).into_iter().map(|tiling| (tiling, waste(&tiling))).collect();
    let mut found = Vec::new();
    while found.len() < MAX_TILINGS {
        let whole = dot(&left, &left);
        // Wasted work costs time, so a tiling never saves any.
        let explained = |term: &[f64]| match dot(&left, term) {
            product if product > 0.0 => product.powi(2) / dot(term, term).max(f64::MIN_POSITIVE),
            _ => 0.0,
        };
        let best = candidates.iter().map(|(_, term)| explained(term)).enumerate();
        let Some((at, gain)) = best.reduce(|a, b| if b.1 > a.1 { b } else { a }) else { break };
        if gain < LEAST_SHARE * whole {
            break;
        }
        let (tiling, term) = candidates.swap_remove(at);
        subtract(&mut left, &term);
        candidates.retain(|(other, _)| other.input != tiling.input);
        candidates.iter_mut().for_each(|(_, other)| subtract(other, &term));
        found.push(tiling);
    }
    found
}

/// Returns a value for each timing, less what its input and its choice explain.
fn interactions(numbers: &Numbers, timings: &[Timing], value: impl Fn(&Timing) -> f64) -> Vec<f64> {
    let terms: Vec<Timing> = timings.iter().map(|t| Timing { log_time: value(t), ..*t }).collect();
    let levels = Levels::new(&terms, numbers.inputs[0].len(), numbers.ranks.len());
    terms
        .iter()
        .map(|t| t.log_time - levels.inputs[t.input as usize] - levels.choices[t.choice as usize])
        .collect()
}

/// Takes from `values` what `term` explains of them.
fn subtract(values: &mut [f64], term: &[f64]) {
    let slope = dot(values, term) / dot(term, term).max(f64::MIN_POSITIVE);
    values.iter_mut().zip(term).for_each(|(value, term)| *value -= slope * term);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// Returns the columns without tilings: numbers of inputs and their products, fields, and the choice itself.
fn plain(numbers: &Numbers) -> Vec<Column> {
    let mut columns: Vec<Column> = (0..numbers.inputs.len()).map(|at| Column::Input(vec![at])).collect();
    let sizes = sizes(numbers);
    for (position, &a) in sizes.iter().enumerate().take(MAX_INPUTS) {
        for &b in sizes[position + 1..].iter().take(MAX_INPUTS) {
            columns.push(Column::Input(vec![a, b]));
        }
    }
    if (3..=MAX_INPUTS).contains(&sizes.len()) {
        columns.push(Column::Input(sizes));
    }
    columns.extend((0..numbers.fields.len()).map(Column::Field));
    columns.push(Column::Identity);
    columns
}

/// Returns the numbers of inputs that may be cut into tiles: whole ones from 1 on.
fn sizes(numbers: &Numbers) -> Vec<usize> {
    let is_size = |at: &usize| {
        let values = &numbers.inputs[*at];
        values.iter().all(|x| *x >= 1.0 && x.fract() == 0.0) && values.iter().any(|x| *x > 8.0)
    };
    (0..numbers.inputs.len()).filter(is_size).collect()
}

fn candidates(numbers: &Numbers) -> Vec<Tiling> {
    let fields = numbers.fields.iter().enumerate();
    let tile = |field: &Field| field.is_size && field.values.iter().any(|x| *x >= 8.0);
    let fields: Vec<usize> = fields.filter(|(_, field)| tile(field)).map(|(at, _)| at).collect();
    let of = |input: usize| fields.iter().map(move |&field| Tiling { input, field });
    sizes(numbers).into_iter().flat_map(of).collect()
}

/// Returns the products of the tile counts of different numbers by different fields.
fn products(tilings: &[Tiling]) -> Vec<Column> {
    let differ = |a: &Tiling, b: &Tiling| a.input != b.input && a.field != b.field;
    let mut columns = Vec::new();
    for (at, a) in tilings.iter().enumerate() {
        for (second, b) in tilings.iter().enumerate().skip(at + 1).filter(|(_, b)| differ(a, b)) {
            columns.push(Column::Tiles(vec![*a, *b]));
            for c in tilings.iter().skip(second + 1).filter(|c| differ(a, c) && differ(b, c)) {
                columns.push(Column::Tiles(vec![*a, *b, *c]));
            }
        }
    }
    columns
}

/// Trees on some columns.
struct Trial {
    columns: Vec<Column>,
    /// How much the splits on each column lower the squared error.
    gains: Vec<f64>,
    /// The mean squared error on the judging timings, each input's level left out.
    error: f64,
}

impl Trial {
    fn new(
        columns: Vec<Column>,
        numbers: &Numbers,
        learning: &[Timing],
        judging: &[Timing],
        levels: &Levels,
        seed: u64,
    ) -> Self {
        let coded = Coded::new(columns, numbers, learning, levels);
        let even = vec![1; learning.len()];
        let trees = TRIAL.fit(&coded, &coded.targets, &even, seed).trees;
        let mut total = 0.0;
        for group in judging.chunk_by(|a, b| a.input == b.input) {
            let codes: Vec<Vec<u16>> =
                group.iter().map(|t| coded.coding.codes(numbers, t.input, t.choice)).collect();
            let left: Vec<f64> = group
                .iter()
                .zip(trees.predict(&codes))
                .map(|(t, predicted)| t.log_time - predicted)
                .collect();
            let mean = left.iter().sum::<f64>() / left.len() as f64;
            total += left.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        }
        let error = total / judging.len().max(1) as f64;
        Self { gains: trees.gains(coded.coding.width()), columns: coded.coding.columns, error }
    }

    /// Returns the columns that lower the error most, in their order.
    fn most_useful(self) -> Vec<Column> {
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by(|&a, &b| self.gains[b].total_cmp(&self.gains[a]).then(a.cmp(&b)));
        order.truncate(MAX_COLUMNS);
        order.sort_unstable();
        order.into_iter().map(|at| self.columns[at].clone()).collect()
    }
}
