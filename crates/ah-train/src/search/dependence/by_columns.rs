//! Groups of equal values in a set of columns.

use std::cmp::Reverse;

use ah_model::expr::Binary;
use rayon::prelude::*;

use super::column::{Column, FEW_PAIRS, MANY_VALUES, combined};
use super::groups::{
    Candidate, MANY_GROUPS, MOST_OF_ONE, MOST_OF_SHUFFLED, codes, groups_of_shuffled, sizes_of,
};

/// Fewest groups: folds need some.
const LEAST_GROUPS: usize = 3;
/// Single columns that are candidates: those with the most values.
const SINGLE_COLUMNS: usize = 4;
/// A combination that names a thing has at most this share of the values of each of its numbers.
const FEW_VALUES: f64 = 0.25;

/// The columns whose values mostly recur, without those that follow another.
pub(super) fn recurring(all: &[Column]) -> Vec<&Column> {
    let mut columns: Vec<&Column> = Vec::new();
    let recurs = |column: &&Column| column.distinct < column.most && sizes_of(&column.codes).recur();
    for column in all.iter().filter(recurs) {
        // `bytes = 2 * n` says what `n` says.
        if !columns.iter().any(|other| column.follows(other)) {
            columns.retain(|other| !other.follows(column));
            columns.push(column);
        }
    }
    columns
}

/// The fewest groups of columns that determine each other: the inputs of one thing, such as a file, whatever their times are.
pub(super) fn entity(columns: &[&Column]) -> Option<Candidate> {
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
        let candidate = (set.len() > 1).then(|| Candidate::of_columns(&set));
        candidate.filter(|candidate| candidate.sizes.recur())
    };
    Candidate::fewest((0..columns.len()).filter_map(of_part))
}

/// The fewest groups of equal ratios, products, sums or distances of two numbers, where these have far fewer values than by chance,
/// such as the parts of things whose total is constant; whatever their times are.
pub(super) fn in_common(columns: &[Column]) -> Option<Candidate> {
    let group = |column: Column| {
        let candidate = Candidate::of_columns(&[&column]);
        let groups = candidate.sizes.groups;
        let by_chance = groups_of_shuffled(&[&column]);
        let most = f64::min(FEW_VALUES * column.most as f64, FEW_PAIRS * by_chance as f64);
        let recurs = candidate.sizes.recur() && candidate.sizes.largest <= MOST_OF_ONE;
        let is_new = || !columns.iter().any(|feature| column.follows(feature));
        (recurs && groups >= MANY_GROUPS && groups as f64 <= most && is_new()).then_some(candidate)
    };
    let combinations = [Binary::Div, Binary::Mul, Binary::Add, Binary::Sub].into_par_iter();
    let found: Vec<_> = combinations.flat_map_iter(|by| combined(columns, by)).filter_map(group).collect();
    Candidate::fewest(found.into_iter())
}

/// The sets of columns that recur together, the finest first, without sets that make the same groups; then single columns.
pub(super) fn sets(mut columns: Vec<&Column>, is_only: bool) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut set = columns.clone();
    // From all columns down: the column goes without which the fewest groups are left.
    while set.len() > 1 {
        let candidate = Candidate::of_columns(&set);
        let groups = candidate.sizes.groups;
        let most = set.iter().map(|column| column.distinct).max().unwrap_or(0);
        let recurs = candidate.sizes.recur()
            && groups >= LEAST_GROUPS
            && groups as f64 <= MOST_OF_SHUFFLED * groups_of_shuffled(&set) as f64
            && most >= MANY_VALUES;
        if recurs && candidates.last().is_none_or(|other| other.sizes.groups != groups) {
            candidates.push(candidate);
        }
        let without = |at: usize| sizes_of(&codes(&[&set[..at], &set[at + 1..]].concat())).groups;
        let left: Vec<usize> = (0..set.len()).into_par_iter().map(without).collect();
        set.remove((0..set.len()).min_by_key(|at| left[*at]).unwrap_or(0));
    }
    columns.retain(|column| {
        let is_other = |candidate: &Candidate| candidate.sizes.groups != column.distinct;
        column.distinct >= LEAST_GROUPS && !is_only && candidates.iter().all(is_other)
    });
    columns.sort_by_key(|column| Reverse(column.distinct));
    candidates.extend(columns.iter().take(SINGLE_COLUMNS).map(|column| Candidate::of_columns(&[column])));
    candidates
}
