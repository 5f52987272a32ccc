//! Finds the columns that explain the log times, tile counts among them.
//!
//! A tile that is larger than what is left of the input does work for nothing: where `size` tiles `x`, the log time rises
//! with `ln(size * ceil(x / size) / x)`. Nobody names the field that cuts a number, so every field is tried on every number.
//! Trees on a part of the timings show which columns are useful (docs/laboratory.md compares other columns).

use crate::boost::Boosting;
use crate::columns::{Column, Factor, Numbers, Tiling};
use crate::levels::Timing;
use crate::rows::{Coded, thinned};
use ah_types::random;

/// Timings to try columns on.
const ROWS: usize = 20_000;
/// Most numbers of inputs that products and tile counts are made of.
const MAX_INPUTS: usize = 6;
/// Most fields that are tried as sizes of tiles: with 6 inputs they make 144 columns, and 1,980 products of two.
const MAX_SIZES: usize = 12;
/// Most columns: those that lower the error of the trial trees most.
const MAX_COLUMNS: usize = 28;

const TRIAL: Boosting =
    Boosting { trees: 40, leaves: 31, min_rows: 10, rate: 0.2, row_share: 1.0, column_share: 0.7 };

/// Returns the columns of the joint model: those that trial trees use most.
pub fn columns(numbers: &Numbers, timings: &[Timing], seed: u64) -> Vec<Column> {
    let trial = thinned(timings, ROWS, random::mix(seed, 2));
    let coded = Coded::new(candidates(numbers), numbers, &trial);
    let trees = TRIAL.fit(&coded, &coded.targets, &vec![1; trial.len()], seed).trees;
    let mut columns: Vec<(f64, Column)> =
        trees.gains(coded.coding.width()).into_iter().zip(coded.coding.columns).collect();
    columns.sort_by(|a, b| b.0.total_cmp(&a.0));
    columns.into_iter().take(MAX_COLUMNS).map(|(_, column)| column).collect()
}

/// Returns numbers of inputs and their products, fields, tile counts and their products, and fills.
fn candidates(numbers: &Numbers) -> Vec<Column> {
    let mut columns: Vec<Column> = (0..numbers.inputs.len()).map(|at| vec![Factor::Input(at)]).collect();
    let sizes = sizes(numbers);
    for (position, &a) in sizes.iter().enumerate() {
        columns.extend(sizes[position + 1..].iter().map(|&b| vec![Factor::Input(a), Factor::Input(b)]));
    }
    columns.push(sizes.iter().map(|&at| Factor::Input(at)).collect());
    columns.extend((0..numbers.fields.len()).map(|at| vec![Factor::Field(at)]));
    let fields = numbers.fields.iter().enumerate();
    let fields = fields.filter(|(_, field)| field.is_size && field.values.iter().any(|x| *x >= 8.0));
    let fields: Vec<usize> = fields.map(|(at, _)| at).take(MAX_SIZES).collect();
    let of = |&input: &usize| fields.iter().map(move |&field| Tiling { input, field });
    let tilings: Vec<Tiling> = sizes.iter().flat_map(of).collect();
    for (position, a) in tilings.iter().enumerate() {
        columns.extend([vec![Factor::Tiles(*a)], vec![Factor::Fill(*a)]]);
        let others = tilings[position + 1..].iter().filter(|b| a.input != b.input && a.field != b.field);
        columns.extend(others.map(|b| vec![Factor::Tiles(*a), Factor::Tiles(*b)]));
    }
    columns
}

/// Returns the numbers of inputs that may be sizes: whole ones from 1 on.
fn sizes(numbers: &Numbers) -> Vec<usize> {
    let is_size = |at: &usize| {
        let values = &numbers.inputs[*at];
        values.iter().all(|x| *x >= 1.0 && x.fract() == 0.0) && values.iter().any(|x| *x > 8.0)
    };
    (0..numbers.inputs.len()).filter(is_size).take(MAX_INPUTS).collect()
}
