//! Finds the columns that explain the log times, tile counts among them.
//!
//! A tile that is larger than what is left of the input does work for nothing: where `size` tiles `x`, the log time rises
//! with `ln(size * ceil(x / size) / x)`. Nobody names the field that cuts a number, so each field is tried on each number.
//! Trees on a part of the timings show which columns are useful (docs/laboratory.md compares other columns).

use crate::columns::{Column, Factor, Numbers};
use crate::levels::Timing;
use crate::rows::{Coded, boosting, thinned};
use ah_types::random;

/// Timings to try columns on.
const ROWS: usize = 20_000;
/// Most numbers of inputs that products and tile counts are made of.
const MAX_INPUTS: usize = 6;
/// Most fields that are tried as sizes of tiles: with 6 inputs they make 72 tile counts, and 1,980 products of two.
const MAX_SIZES: usize = 12;
/// Most columns: those that lower the error of the trial trees most.
const MAX_COLUMNS: usize = 28;

/// The columns of the joint model: those that trial trees use most.
pub fn columns(numbers: &Numbers, timings: &[Timing], seed: u64) -> Vec<Column> {
    let trial = thinned(timings, ROWS, random::mix(seed, 2));
    let coded = Coded::new(candidates(numbers), numbers, &trial);
    let targets = trial.iter().map(|timing| timing.log_time);
    let (trees, _) = coded.fit(&boosting(40, 31, 0.2, 1.0), targets, vec![1; trial.len()], seed);
    // How much the splits on each column lower the squared error.
    let mut gains = vec![0.0; coded.coding.columns.len()];
    let nodes = trees.iter().flat_map(|tree| &tree.splits.nodes);
    nodes.for_each(|node| gains[node.column as usize] += node.gain);
    let mut columns: Vec<(f64, Column)> = gains.into_iter().zip(coded.coding.columns).collect();
    columns.sort_by(|a, b| b.0.total_cmp(&a.0));
    columns.into_iter().take(MAX_COLUMNS).map(|(_, column)| column).collect()
}

/// Numbers of inputs, fields and tile counts, and products of two of a kind.
fn candidates(numbers: &Numbers) -> Vec<Column> {
    // Whole numbers from 1 on, not all small. A choice may have none.
    let is_whole = |x: &f64| x.is_nan() || *x >= 1.0 && x.fract() == 0.0;
    let are_sizes = |values: &[f64]| values.iter().all(is_whole) && values.iter().any(|x| *x >= 8.0);
    let sizes = |values: &[Vec<f64>], most| -> Vec<usize> {
        (0..values.len()).filter(|&at| are_sizes(&values[at])).take(most).collect()
    };
    let inputs = sizes(&numbers.inputs, MAX_INPUTS);
    let fields = sizes(&numbers.fields, MAX_SIZES);
    let of = |&x: &usize| fields.iter().map(move |&size| Factor::Tiles(x, size));
    let tiles: Vec<Factor> = inputs.iter().flat_map(of).collect();
    let singles = (0..numbers.inputs.len()).map(Factor::Input);
    let singles = singles.chain((0..numbers.fields.len()).map(Factor::Field)).chain(tiles.iter().copied());
    let mut columns: Vec<Column> = singles.map(|factor| vec![factor]).collect();
    let inputs: Vec<Factor> = inputs.into_iter().map(Factor::Input).collect();
    let fields = fields.into_iter().map(Factor::Field).collect();
    columns.push(inputs.clone());
    for factors in [inputs, fields, tiles] {
        for (at, a) in factors.iter().enumerate() {
            let others = factors[at + 1..].iter().filter(|b| {
                !matches!((a, b), (Factor::Tiles(x, size), Factor::Tiles(y, other)) if x == y || size == other)
            });
            columns.extend(others.map(|b| vec![*a, *b]));
        }
    }
    columns
}
