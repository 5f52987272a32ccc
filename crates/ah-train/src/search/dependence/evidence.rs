//! Whether the inputs of a group share what no feature says: how much a tree errs on groups that it never saw.

use std::collections::BTreeMap;

use ah_model::ChoiceId;
use ah_types::random::mix;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::groups::Candidate;
use crate::data::split;
use crate::data::{COST_ONE, Costs, Dataset, FitRows, RankedFeatures};
use crate::learners::CostTree;
use crate::params::SplitBy;
use crate::plan::SEARCH_FOLDS;

/// From this share of the squared error on that is common to a group, each group counts as one input. It is 0.87 to 1.00 in
/// simulated groups, and at most 0.57 in 83 sets of columns and clusters of 12 published logs.
pub(super) const COMMON: f64 = 0.7;
/// A tree errs this many times as much (squared) on whole groups as on single inputs, whose fellows give the answer away: 1.9 times or
/// more in simulated groups.
const MORE: f64 = 1.5;
/// Where it errs this many times as much, a smaller share is enough: in space the inputs of a run lie apart, so a tree that never saw the
/// run predicts them differently. Of 100 runs of 12 inputs whose numbers grow together 0.66 to 0.81 are common, and the tree errs 3.4
/// to 5.0 times as much; at most 2.4 times on the published logs.
const MUCH_MORE: f64 = 3.0;
const COMMON_OF_MUCH: f64 = 0.6;
/// The share of [`COMMON`] for ratios, which runs of small numbers have in common: 0.67 or more in 38 of 40 logs of such runs, and at
/// most 0.49 on the published logs.
pub(super) const COMMON_OF_RATIOS: f64 = 0.5;
/// A smaller difference of the squared errors, which are logarithms of times, is none: two of 1,000 inputs that are a fifth slower.
const LEAST_MORE: f64 = 1e-4;
/// This many times as much counts however small it is: of 24 files without a slow one the error is small, and the 25th may be slow.
const FAR_MORE: f64 = 5.0;
/// Most inputs on which a candidate is judged, and most of one group.
pub(super) const MOST_INPUTS: usize = 4000;
const MOST_FELLOWS: usize = 20;

/// What folds that hold out whole groups show.
pub(super) struct Evidence {
    /// The share of the squared error that is common to a group.
    pub(super) common: f64,
    /// The mean squared error.
    pub(super) square: f64,
    /// The one of folds that hold out single inputs.
    pub(super) by_input: f64,
    /// The independent inputs that this leaves.
    pub(super) independent: f64,
}

impl Evidence {
    pub(super) fn new(dataset: &Dataset, costs: &Costs, candidate: &Candidate, seed: u64) -> Self {
        let mut sizes: FxHashMap<u64, usize> = FxHashMap::default();
        let mut rows: Vec<(u32, u64)> = Vec::new();
        for (&input, &key) in dataset.usable.iter().zip(&candidate.keys) {
            let size = sizes.entry(key).or_default();
            *size += 1;
            if *size <= MOST_FELLOWS {
                rows.push((input, key));
            }
        }
        // Whole groups, so that fellows stay together.
        let step = rows.len().div_ceil(MOST_INPUTS).max(1) as u64;
        rows.retain(|(_, key)| mix(seed, *key).is_multiple_of(step));
        let (inputs, keys): (Vec<u32>, Vec<u64>) = rows.into_iter().unzip();
        let judged = |by: &[String]| common(&errors(dataset, costs, &inputs, by, seed), &keys);
        let [common, square] = judged(&keys.iter().map(u64::to_string).collect::<Vec<_>>());
        let independent = candidate.sizes.independent(common);
        let [_, by_input] = judged(&dataset.keys(SplitBy::Input, &inputs));
        Self { common, square, by_input, independent }
    }

    /// Whether the inputs of a group are no independent evidence; `least` is the share that must be common.
    pub(super) fn counts(&self, least: f64) -> bool {
        let Self { common, square, by_input, .. } = *self;
        let more = square - by_input;
        let enough = if square > MUCH_MORE * by_input { least.min(COMMON_OF_MUCH) } else { least };
        common >= enough && square > MORE * by_input && (more >= LEAST_MORE || square > FAR_MORE * by_input)
    }
}

/// The products of the errors of two inputs of a group as a share of what they are if all errors of a group are equal, and
/// the mean square. Errors of one choice are compared, less its mean error.
pub(super) fn common(errors: &[Vec<(ChoiceId, f64)>], keys: &[u64]) -> [f64; 2] {
    let mut means: BTreeMap<ChoiceId, (f64, f64)> = BTreeMap::new();
    for (choice, error) in errors.iter().flatten() {
        let (sum, count) = means.entry(*choice).or_default();
        (*sum, *count) = (*sum + error, *count + 1.0);
    }
    // By group and choice: the count, the sum and the squares.
    let mut cells: BTreeMap<(u64, ChoiceId), [f64; 3]> = BTreeMap::new();
    for (key, (choice, error)) in keys.iter().zip(errors).flat_map(|(key, e)| e.iter().map(move |e| (key, e)))
    {
        let (sum, count) = means[choice];
        let error = error - sum / count;
        let cell = cells.entry((*key, *choice)).or_default();
        *cell = [cell[0] + 1.0, cell[1] + error, cell[2] + error * error];
    }
    let [mut products, mut most, mut count, mut squares] = [0.0; 4];
    for [n, sum, square] in cells.into_values() {
        (products, most) = (products + sum * sum - square, most + (n - 1.0) * square);
        (count, squares) = (count + n, squares + square);
    }
    let square = squares / f64::max(count, 1.0);
    [if most == 0.0 || square < 1e-12 { 0.0 } else { products / most }, square]
}

/// The errors of each input's costs, as predicted by a tree that folds by these keys kept from the input. Its leaves hold
/// single inputs, so that it remembers what it can: with leaves of 3 it overlooked pairs.
pub(super) fn errors(
    data: &Dataset,
    costs: &Costs,
    inputs: &[u32],
    keys: &[String],
    seed: u64,
) -> Vec<Vec<(ChoiceId, f64)>> {
    let judged = |part: split::Partition| {
        let RankedFeatures { columns, .. } = data.ranked_without(&part.training, &Default::default());
        let rows = FitRows { columns: &columns, inputs: &part.training };
        let tree = CostTree { max_depth: 20, min_samples_leaf: 1 }.grow(&rows, costs);
        let mut means: FxHashMap<(usize, ChoiceId), (f64, f64)> = FxHashMap::default();
        for &input in &part.training {
            let leaf = columns.leaf(&tree, input);
            for cost in costs.of(input) {
                let (sum, count) = means.entry((leaf, cost.choice)).or_default();
                (*sum, *count) = (*sum + f64::from(cost.cost), *count + 1.0);
            }
        }
        let error = |&input: &u32| {
            let leaf = columns.leaf(&tree, input);
            let of = costs.of(input).iter().filter_map(|cost| {
                let (sum, count) = means.get(&(leaf, cost.choice))?;
                Some((cost.choice, (f64::from(cost.cost) - sum / count) / COST_ONE))
            });
            (input, of.collect())
        };
        part.held_out.iter().map(error).collect::<Vec<_>>()
    };
    let parts = split::partitions(inputs, keys, SEARCH_FOLDS, seed).into_par_iter();
    let mut errors: FxHashMap<u32, Vec<(ChoiceId, f64)>> = parts.flat_map_iter(judged).collect();
    inputs.iter().map(|input| errors.remove(input).unwrap_or_default()).collect()
}
