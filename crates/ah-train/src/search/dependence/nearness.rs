//! Groups of inputs that are near each other, such as the runs of a program on sizes that vary a little.

use std::cmp::Reverse;

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

/// The clusters of inputs that are near in all numbers, `fewest` or more, and equal in categories, if any.
pub(super) fn near(mut columns: Vec<&Column>, fewest: usize) -> Option<Candidate> {
    columns.sort_by_key(|column| Reverse(column.distinct));
    let numbers = columns.iter().filter(|column| column.is_number).count();
    if numbers < fewest || columns[0].values.len() > MOST_NEAR {
        return None;
    }
    let space = |values: fn(&Column) -> &[f64]| -> Vec<Vec<f64>> {
        let of = |column: &&Column| match column.is_number {
            true => in_ranges(values(column).to_vec()),
            false => Some(values(column).to_vec()),
        };
        columns.iter().filter_map(of).collect()
    };
    let (own, shuffled) = (space(|column| &column.values), space(|column| &column.shuffled));
    let at = |reach: f64| {
        let keys = clusters(&own, reach);
        let sizes = sizes_of(&keys);
        if sizes.with_fellow < LEAST_SHARE || sizes.largest > MOST_OF_ONE {
            return None;
        }
        let share = sizes.groups as f64 / sizes_of(&clusters(&shuffled, reach)).groups as f64;
        (share <= MOST_OF_SHUFFLED).then_some((share, keys))
    };
    // The reach at which they are fewest beside those of shuffled columns.
    let rated: Vec<_> = REACHES.into_par_iter().filter_map(at).collect();
    let fewest = rated.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    fewest.map(|(_, keys)| Candidate { keys, shared: Shared::Nearness })
}
