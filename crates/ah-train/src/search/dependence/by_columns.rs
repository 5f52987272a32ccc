//! Groups of equal values in a set of columns.

use std::cmp::Reverse;

use ah_model::expr::Binary;
use ah_types::random::mix;
use rayon::prelude::*;

use super::column::{Column, FEW_PAIRS, MANY_VALUES, combined};
use super::groups::{Candidate, LEAST_SHARE, MANY_GROUPS, MOST_OF_ONE, MOST_OF_SHUFFLED, sizes_of};
use crate::data::Shared;

/// Fewest groups: folds need some.
const LEAST_GROUPS: usize = 3;
/// Single columns that are candidates: those with the most values.
const SINGLE_COLUMNS: usize = 4;
/// A combination that names a thing has at most this share of the values of each of its numbers.
const FEW_VALUES: f64 = 0.25;

/// The fewest groups of columns that determine each other: the inputs of one thing, such as a file, whatever their times are.
pub(super) fn entity(columns: &[&Column]) -> Option<(f64, Candidate)> {
    let mut parts: Vec<usize> = (0..columns.len()).collect();
    for (at, column) in columns.iter().enumerate() {
        for other in (0..at).filter(|&other| column.identifies(columns[other])) {
            let from = parts[at];
            let to = parts[other];
            parts.iter_mut().filter(|part| **part == from).for_each(|part| *part = to);
        }
    }
    let of_part = |part: usize| {
        let set: Vec<&Column> =
            (0..columns.len()).filter(|&at| parts[at] == part).map(|at| columns[at]).collect();
        if set.len() < 2 {
            return None;
        }
        let keys = row_keys(&set, |column, row| column.codes[row]);
        let sizes = sizes_of(&keys);
        let shared = Shared::Columns(set.iter().map(|column| column.name.clone()).collect());
        (sizes.with_fellow >= LEAST_SHARE).then(|| (sizes.independent(1.0), Candidate { keys, shared }))
    };
    (0..columns.len()).filter_map(of_part).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// The fewest groups of equal ratios, products, sums or distances of two numbers, where these have far fewer values than by chance,
/// such as the parts of things whose total is constant; whatever their times are.
pub(super) fn in_common(columns: &[Column]) -> Option<(f64, Candidate)> {
    let group = |column: Column| {
        let sizes = sizes_of(&column.codes);
        let by_chance = sizes_of(&column.shuffled.iter().map(|x| x.to_bits()).collect::<Vec<_>>()).groups;
        let most = f64::min(FEW_VALUES * column.most as f64, FEW_PAIRS * by_chance as f64);
        let recurs = sizes.with_fellow >= LEAST_SHARE && sizes.largest <= MOST_OF_ONE;
        let is_new = || !columns.iter().any(|feature| column.follows(feature));
        (recurs && sizes.groups >= MANY_GROUPS && sizes.groups as f64 <= most && is_new()).then(|| {
            let shared = Shared::Columns(vec![column.name.clone()]);
            (sizes.independent(1.0), Candidate { keys: column.codes.clone(), shared })
        })
    };
    let combinations = [Binary::Div, Binary::Mul, Binary::Add, Binary::Sub].into_par_iter();
    let found: Vec<_> = combinations.flat_map_iter(|by| combined(columns, by)).filter_map(group).collect();
    found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
}

/// The sets of columns that recur together, the finest first, without sets that make the same groups; then single columns.
pub(super) fn sets(mut columns: Vec<&Column>, is_only: bool) -> Vec<Candidate> {
    let mut candidates: Vec<(usize, Candidate)> = Vec::new();
    let mut set = columns.clone();
    // From all columns down: the column goes without which the fewest groups are left.
    while set.len() > 1 {
        let keys = row_keys(&set, |column, row| column.codes[row]);
        let (sizes, shuffled) =
            (sizes_of(&keys), sizes_of(&row_keys(&set, |column, row| column.shuffled[row].to_bits())));
        let most = set.iter().map(|column| column.distinct).max().unwrap_or(0);
        let recurs = sizes.with_fellow >= LEAST_SHARE
            && sizes.groups >= LEAST_GROUPS
            && sizes.groups as f64 <= MOST_OF_SHUFFLED * shuffled.groups as f64
            && most >= MANY_VALUES;
        if recurs && candidates.last().is_none_or(|(other, _)| *other != sizes.groups) {
            let names = set.iter().map(|column| column.name.clone()).collect();
            candidates.push((sizes.groups, Candidate { keys, shared: Shared::Columns(names) }));
        }
        let without = |at: usize| {
            let rest = [&set[..at], &set[at + 1..]].concat();
            sizes_of(&row_keys(&rest, |column, row| column.codes[row])).groups
        };
        let left: Vec<usize> = (0..set.len()).into_par_iter().map(without).collect();
        set.remove((0..set.len()).min_by_key(|at| left[*at]).unwrap_or(0));
    }
    columns.retain(|column| {
        let is_other = |(groups, _): &(usize, Candidate)| *groups != column.distinct;
        column.distinct >= LEAST_GROUPS && !is_only && candidates.iter().all(is_other)
    });
    columns.sort_by_key(|column| Reverse(column.distinct));
    let single = |column: &Column| Candidate {
        keys: column.codes.clone(),
        shared: Shared::Columns(vec![column.name.clone()]),
    };
    let singles = columns.into_iter().take(SINGLE_COLUMNS).map(single);
    candidates.into_iter().map(|(_, candidate)| candidate).chain(singles).collect()
}

/// A hash of the codes of each row.
pub(super) fn row_keys(set: &[&Column], code: impl Fn(&Column, usize) -> u64) -> Vec<u64> {
    let key = |row| set.iter().fold(0, |key, column| mix(key, code(column, row)));
    (0..set[0].codes.len()).map(key).collect()
}
