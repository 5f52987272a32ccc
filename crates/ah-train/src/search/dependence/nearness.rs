//! Groups of inputs that are near each other, such as the runs of a program on sizes that vary a little.

use std::cmp::Reverse;

use ah_model::math::ln;
use rayon::prelude::*;

use super::clusters::{clusters, in_ranges};
use super::column::Column;
use super::groups::{Candidate, LEAST_SHARE, MOST_OF_SHUFFLED, sizes_of};
use crate::data::Shared;

/// The largest share of the inputs in one cluster. Where more are connected, the reach is as great as the gaps are: lists of all
/// lengths whose `ascending` is 0 or 1 became two of four clusters.
const MOST_OF_ONE: f64 = 0.25;
/// Nearness is computed for at most this many inputs.
const MOST_NEAR: usize = 6000;
/// The distances within which inputs are near, as shares of the range of a number.
const REACHES: [f64; 4] = [0.001, 0.004, 0.016, 0.064];

/// Returns the clusters of inputs that are near in all numbers and equal in categories; then those that are near in the ratios of their
/// numbers, as the sizes of a run that grow together.
pub(super) fn near(columns: &[Column]) -> Vec<Candidate> {
    let mut columns: Vec<&Column> = columns.iter().collect();
    columns.sort_by_key(|column| Reverse(column.distinct));
    let numbers = columns.iter().filter(|column| column.is_number).count();
    if numbers < 2 || columns[0].codes.len() > MOST_NEAR {
        return Vec::new();
    }
    let in_order = |space: fn(&[&Column], &Rows<'_>) -> Vec<Vec<f64>>| {
        let shuffled = space(&columns, &|column, row| column.order[row]);
        clusters_beside(&space(&columns, &|_, row| row), &shuffled)
    };
    [values, ratios].into_iter().filter_map(in_order).collect()
}

/// Returns the row in whose place a column has another one.
type Rows<'a> = dyn Fn(&Column, usize) -> usize + 'a;

/// Returns the columns in units of their ranges.
fn values(columns: &[&Column], rows: &Rows<'_>) -> Vec<Vec<f64>> {
    let values = |column: &&Column| {
        let values = column.in_ranges()?;
        Some((0..values.len()).map(|row| values[rows(column, row)]).collect())
    };
    columns.iter().filter_map(values).collect()
}

/// Returns the same, where the positive numbers are divided by the first of them; nothing if they are fewer than three.
fn ratios(columns: &[&Column], rows: &Rows<'_>) -> Vec<Vec<f64>> {
    let is_positive = |column: &&Column| column.is_number && column.values.iter().all(|x| *x > 0.0);
    let (positive, others): (Vec<&Column>, Vec<&Column>) = columns.iter().copied().partition(is_positive);
    let [first, second, rest @ ..] = positive.as_slice() else { return Vec::new() };
    if rest.is_empty() {
        return Vec::new();
    }
    let log = |column: &Column, row| ln(column.values[rows(column, row)]);
    let ratio = |column: &&Column| {
        in_ranges((0..first.values.len()).map(|row| log(column, row) - log(first, row)).collect())
    };
    let ratios = std::iter::once(second).chain(rest).filter_map(ratio);
    ratios.chain(values(&others, rows)).collect()
}

/// Returns the clusters at the reach at which they are fewest beside those of shuffled columns.
fn clusters_beside(columns: &[Vec<f64>], shuffled: &[Vec<f64>]) -> Option<Candidate> {
    let at = |reach: f64| {
        let keys = clusters(columns, reach);
        let sizes = sizes_of(&keys);
        if sizes.with_fellow < LEAST_SHARE || sizes.largest > MOST_OF_ONE {
            return None;
        }
        let share = sizes.groups as f64 / sizes_of(&clusters(shuffled, reach)).groups as f64;
        (share <= MOST_OF_SHUFFLED).then_some((share, keys))
    };
    let rated: Vec<_> = REACHES.into_par_iter().filter_map(at).collect();
    let (_, keys) = rated.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Candidate { keys, shared: Shared::Nearness })
}
