//! Groups of inputs that are near each other, such as the runs of a program on sizes that vary a little, or files whose sizes are measured
//! again with a little noise.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ah_types::random::{fraction, mix};
use rayon::prelude::*;

use super::clusters::{clusters, in_ranges};
use super::column::{Column, most_varied};
use super::groups::{Candidate, MANY_GROUPS, MOST_OF_ONE, MOST_OF_SHUFFLED, codes, sizes_of};
use crate::data::Shared;

/// Nearness is computed for at most this many inputs.
const MOST_NEAR: usize = 6000;
/// The distances within which inputs are near, as shares of the range of a number: each twice the one before.
const REACHES: [f64; 8] = [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064];
/// The distances for clusters in all numbers.
const WIDE_REACHES: [f64; 4] = [0.001, 0.004, 0.016, 0.064];
/// Things that are measured again have at most this share of the clusters of rearranged numbers, of one number and of two: 0.44 or less
/// with 10 % noise, 0.66 or more where inputs are independent, 0.36 for one number at regular distances.
const MOST_OF_REARRANGED: [f64; 2] = [0.25, 0.5];
/// This share of the inputs has values of its own. The values of a factor recur.
const OWN_VALUES: f64 = 0.6;
/// Two numbers that rise together over this share of the inputs lie along a line and not in clusters: 0.40 or more where a stride is
/// computed from a length, at most 0.1 in simulated things.
const RISE_TOGETHER: f64 = 0.35;
/// The clusters of things that are measured again extend over at most this share of a number's range, in the mean of the inputs. Numbers at
/// regular distances make chains, which extend over most of it.
const MOST_EXTENT: f64 = 0.25;
/// Things are measured again on at least this many inputs on average: numbers at regular distances make pairs.
const LEAST_INPUTS: usize = 6;
/// Rearranging moves a number within this share of the log, so that the numbers stay as dense as they are and as correlated.
const WINDOW: f64 = 0.2;

/// The clearest clusters of one or two numbers whose values do not recur: things that are measured again with noise, whatever their
/// times are. Free numbers beside them, such as a level, are left out. Coarser clusters follow: things may come in families.
pub(super) fn measured_again(columns: &[Column]) -> Vec<Candidate> {
    let numbers = most_varied(columns, |column| column.is_number);
    let mut sets: Vec<Vec<&Column>> = numbers.iter().map(|column| vec![*column]).collect();
    for (at, column) in numbers.iter().enumerate() {
        let apart = numbers[at + 1..].iter().filter(|other| column.rises_with(other) <= RISE_TOGETHER);
        sets.extend(apart.map(|other| vec![*column, *other]));
    }
    let rated = |set: Vec<&Column>| {
        let inputs = set[0].codes.len();
        let own = sizes_of(&codes(&set)).groups as f64;
        if inputs > MOST_NEAR || own < OWN_VALUES * inputs as f64 {
            return None;
        }
        let values = set.iter().map(|column| in_ranges(column.values.clone())).collect::<Option<Vec<_>>>()?;
        let mut rated = beside(&values, &rearranged(&values), &REACHES);
        rated.retain(|(_, Candidate { keys, sizes, .. })| {
            sizes.groups * LEAST_INPUTS <= inputs && values.iter().all(|x| extent(x, keys) <= MOST_EXTENT)
        });
        let share = rated.iter().map(|(share, _)| *share).min_by(f64::total_cmp)?;
        rated.drain(..rated.iter().position(|(other, _)| *other == share)?);
        let is_factor = set.len() == 1 && rated[0].1.sizes.groups < MANY_GROUPS;
        (share <= MOST_OF_REARRANGED[set.len() - 1] && !is_factor).then_some((share, rated))
    };
    let found: Vec<_> = sets.into_par_iter().filter_map(rated).collect();
    let clearest = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    clearest.into_iter().flat_map(|(_, rated)| rated).map(|(_, candidate)| candidate).collect()
}

/// The mean over the inputs of the extent of an input's cluster in these numbers.
fn extent(values: &[f64], keys: &[u64]) -> f64 {
    let mut ranges: BTreeMap<u64, (f64, f64, usize)> = BTreeMap::new();
    for (&x, &key) in values.iter().zip(keys) {
        let (low, high, count) = ranges.entry(key).or_insert((x, x, 0));
        (*low, *high, *count) = (low.min(x), high.max(x), *count + 1);
    }
    let sum: f64 = ranges.values().map(|(low, high, count)| (high - low) * *count as f64).sum();
    sum / values.len() as f64
}

/// These numbers without clusters: two are paired anew with others near by, and one is drawn from its neighbours' range.
fn rearranged(numbers: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let first = &numbers[0];
    let last = &numbers[numbers.len() - 1];
    let mut order: Vec<usize> = (0..first.len()).collect();
    order.sort_by(|&a, &b| first[a].total_cmp(&first[b]));
    let window = (WINDOW * order.len() as f64).ceil() as usize;
    let ranked = |rank: usize| first[order[rank.min(order.len() - 1)]];
    let mut moved = last.clone();
    if numbers.len() == 1 {
        for (at, &row) in order.iter().enumerate() {
            let low = ranked(at.saturating_sub(window / 4));
            let high = ranked(at + window / 4);
            moved[row] = low + (high - low) * fraction(1, at as u64);
        }
        return vec![moved];
    }
    for rows in order.chunks(window) {
        let mut from = rows.to_vec();
        from.sort_by_key(|&row| mix(1, row as u64));
        rows.iter().zip(from).for_each(|(&row, from)| moved[row] = last[from]);
    }
    vec![first.clone(), moved]
}

/// The clusters of inputs that are near in all numbers, `fewest` or more, and equal in categories, if any.
pub(super) fn near(mut columns: Vec<&Column>, fewest: usize) -> Option<Candidate> {
    columns.sort_by_key(|column| Reverse(column.distinct));
    // A number of two values is a flag: clusters of one free number for each combination of flags are pieces of its range.
    let numbers = columns.iter().filter(|column| column.is_number && column.distinct > 2).count();
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
    let rated = beside(&space(|column| &column.values), &space(|column| &column.shuffled), &WIDE_REACHES);
    let found =
        rated.into_iter().filter(|(share, _)| *share <= MOST_OF_SHUFFLED).min_by(|a, b| a.0.total_cmp(&b.0));
    found.map(|(_, candidate)| candidate)
}

/// The clusters at each reach, with their number as a share of those of a reference.
fn beside(columns: &[Vec<f64>], reference: &[Vec<f64>], reaches: &[f64]) -> Vec<(f64, Candidate)> {
    let at = |&reach: &f64| {
        let candidate = Candidate::new(clusters(columns, reach), Shared::Nearness);
        let groups = candidate.sizes.groups as f64;
        let are_apart = candidate.sizes.recur() && candidate.sizes.largest <= MOST_OF_ONE;
        are_apart.then(|| (groups / sizes_of(&clusters(reference, reach)).groups as f64, candidate))
    };
    reaches.par_iter().filter_map(at).collect()
}
