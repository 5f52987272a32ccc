//! Finds groups: inputs that share something that no feature says, such as the levels of one file, or the batch sizes of one shape.
//!
//! Held out one by one, the other inputs of a group stay behind and give the answer away: losses look smaller than on new groups, and
//! a promise takes copies for evidence. Groups count for the promise, for the noise of a comparison, and for the loss on new groups.
//! Sizes are compared on single inputs.
//!
//! A candidate recurs: most of its inputs have a fellow, and there are far fewer groups than in a log whose columns are shuffled. So
//! files (`size` goes with `lines`) differ from the factors of a grid, where all combinations occur. A candidate counts where the
//! inputs of a group share most of the error of a tree that never saw the group ([`COMMON`]).

use std::collections::BTreeMap;

use ah_model::hash::fnv1a;
use ah_model::{ChoiceId, DEVICE_FEATURES, Scalar};
use ah_types::random::mix;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::clusters::{Scaled, clusters};
use crate::data::split;
use crate::data::{COST_ONE, Costs, Dataset, FitRows, Groups, RankedFeatures, Shared};
use crate::learners::CostTree;
use crate::params::SplitBy;
use crate::plan::SEARCH_FOLDS;

/// The share of the inputs that must have a fellow.
const LEAST_SHARE: f64 = 0.6;
/// The most groups, as a share of those of shuffled columns. Pairs have half of them, full grids 0.9 to 1.
const MOST_OF_SHUFFLED: f64 = 0.7;
/// From this share of the squared error on that is common to a group, each group counts as one input. It is 0.97 to 1.00 in
/// simulated groups, and at most 0.36 in 76 recurring sets of columns of 17 published logs.
const COMMON: f64 = 0.5;
/// Below this many independent groups a single column is a factor: whoever measured chose its values, and the promise is for these.
const LEAST_OF_COLUMN: f64 = 30.0;
/// An entity has a column of at least this many values, or of more than half as many as there are groups.
const MANY_VALUES: usize = 6;
/// Fewest groups: folds need some.
const LEAST_GROUPS: usize = 3;
/// Most inputs on which a candidate is judged, and most of one group.
const MOST_INPUTS: usize = 4000;
const MOST_FELLOWS: usize = 20;
/// Single columns that are candidates: those with the most values.
const SINGLE_COLUMNS: usize = 4;

/// The largest share of the inputs in one cluster. Where more are connected, the reach is as great as the gaps are: lists of all
/// lengths whose `ascending` is 0 or 1 became two of four clusters.
const MOST_OF_ONE: f64 = 0.25;
/// Nearness is computed for at most this many inputs, and without each of at most this many numbers.
const MOST_NEAR: usize = 6000;
const MOST_NUMBERS: usize = 8;
/// The distances within which inputs are near, as shares of the range of a number.
const REACHES: [f64; 4] = [0.001, 0.004, 0.016, 0.064];

/// Lengths of blocks of the log.
const BLOCKS: [usize; 6] = [5, 10, 20, 50, 100, 200];
/// Standard errors by which the errors of a block go together.
const BLOCK_ERRORS: f64 = 4.0;
/// Blocks count where they leave at most this share of the inputs independent. Published logs keep 0.57 or more.
const BLOCK_SHARE: f64 = 0.5;
/// From this correlation of a feature with its next value on, a log is sorted, and its order says nothing about time.
const SORTED: f64 = 0.3;

/// One number of few values, on whose other values a tree loses more: the figures are for these values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The feature.
    pub name: String,
    /// Its distinct values.
    pub values: usize,
}

/// What dependence a log shows.
#[derive(Clone, Debug, Default)]
pub struct Dependence {
    /// The groups that count.
    pub groups: Option<Groups>,
    /// A factor, where nothing is a group.
    pub factor: Option<Factor>,
}

/// Finds the dependence of a dataset's inputs.
pub fn find(dataset: &Dataset, seed: u64) -> Dependence {
    let costs = Costs::new(&dataset.table, None).saturated();
    let columns = columns(dataset);
    let numbers = columns.iter().filter(|column| column.is_number).count();
    let mut found: Vec<(f64, Candidate)> = Vec::new();
    let mut factor = None;
    for candidate in recurring(&columns).into_iter().chain(near(dataset, numbers)) {
        // Clusters merge groups of columns that happen to be near, so columns go first.
        let is_named = found.iter().any(|(_, other)| other.shared != Shared::Nearness);
        if candidate.shared == Shared::Nearness && is_named {
            continue;
        }
        let (common, independent) = common_to_groups(dataset, &costs, &candidate.keys, seed);
        match &candidate.shared {
            _ if common < COMMON => {}
            Shared::Columns(names) if names.len() == 1 && independent < LEAST_OF_COLUMN => {
                let column = columns.iter().find(|column| column.is_number && column.name == names[0]);
                factor = column.map(|column| Factor { name: column.name.clone(), values: column.values });
            }
            _ => found.push((independent, candidate)),
        }
    }
    found.extend(stretches(dataset, &costs, &columns, seed));
    let fewest = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let groups = fewest.map(|(_, Candidate { keys, shared })| {
        let mut of_table = vec![u64::MAX; dataset.table.inputs.len()];
        dataset.usable.iter().zip(keys).for_each(|(&input, key)| of_table[input as usize] = key);
        Groups::new(of_table, shared)
    });
    Dependence { factor: factor.filter(|_| groups.is_none()), groups }
}

/// Groups of the usable inputs, before it is known whether they matter.
struct Candidate {
    keys: Vec<u64>,
    shared: Shared,
}

/// The values of a feature on the usable inputs, as ranks.
struct Column {
    name: String,
    is_number: bool,
    codes: Vec<u64>,
    /// The same in an order of its own.
    shuffled: Vec<u64>,
    values: usize,
}

/// Returns the features that vary, without those of the device.
fn columns(dataset: &Dataset) -> Vec<Column> {
    let schema = dataset.features.base().features();
    let column = |(slot, feature): (usize, &ah_model::Feature)| {
        let values = dataset.usable.iter().map(|&input| {
            match dataset.table.inputs[input as usize].values[slot].as_scalar() {
                Scalar::Number(x) => ordered(x),
                Scalar::Bool(truth) => u64::from(truth),
                Scalar::Category(name) => fnv1a(name),
            }
        });
        let values: Vec<u64> = values.collect();
        let mut distinct = values.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let codes: Vec<u64> =
            values.iter().map(|value| distinct.partition_point(|other| other < value) as u64).collect();
        let mut order: Vec<u64> = (0..codes.len() as u64).collect();
        order.sort_by_key(|row| mix(slot as u64, *row));
        Column {
            name: feature.name.clone(),
            is_number: dataset.usable.first().is_some_and(|&input| {
                matches!(dataset.table.inputs[input as usize].values[slot].as_scalar(), Scalar::Number(_))
            }),
            shuffled: order.iter().map(|row| codes[*row as usize]).collect(),
            codes,
            values: distinct.len(),
        }
    };
    let own = schema.iter().enumerate().filter(|(_, feature)| !DEVICE_FEATURES.contains(&&*feature.name));
    own.map(column).filter(|column| column.values > 1).collect()
}

/// Returns bits that order as the numbers do.
fn ordered(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Returns the sets of columns that recur together, without sets that make the same groups.
fn recurring(all: &[Column]) -> Vec<Candidate> {
    let mut columns: Vec<&Column> = Vec::new();
    for column in all.iter().filter(|column| with_fellow(&column.codes) >= LEAST_SHARE) {
        // `bytes = 2 * n` says what `n` says.
        if !columns.iter().any(|other| follows(column, other)) {
            columns.retain(|other| !follows(other, column));
            columns.push(column);
        }
    }
    let keys_of = |set: &[&Column], codes: fn(&Column) -> &[u64]| -> Vec<u64> {
        let mut keys = vec![0; set[0].codes.len()];
        for column in set {
            keys.iter_mut().zip(codes(column)).for_each(|(key, code)| *key = mix(*key, *code));
        }
        keys
    };
    let codes: fn(&Column) -> &[u64] = |column| &column.codes;
    let mut candidates: Vec<(usize, Candidate)> = Vec::new();
    let mut set = columns.clone();
    // From all columns down: the column goes without which the fewest groups are left.
    while set.len() > 1 {
        let keys = keys_of(&set, codes);
        let (groups, shuffled) = (distinct(&keys), distinct(&keys_of(&set, |column| &column.shuffled)));
        let most = set.iter().map(|column| column.values).max().unwrap_or(0);
        let recurs = with_fellow(&keys) >= LEAST_SHARE
            && groups >= LEAST_GROUPS
            && groups as f64 <= MOST_OF_SHUFFLED * shuffled as f64
            && (most >= MANY_VALUES || 2 * most > groups);
        if recurs && candidates.last().is_none_or(|(other, _)| *other != groups) {
            let names = set.iter().map(|column| column.name.clone()).collect();
            candidates.push((groups, Candidate { keys, shared: Shared::Columns(names) }));
        }
        let without = |at: usize| {
            let rest: Vec<&Column> = [&set[..at], &set[at + 1..]].concat();
            distinct(&keys_of(&rest, codes))
        };
        let left: Vec<usize> = (0..set.len()).into_par_iter().map(without).collect();
        set.remove((0..set.len()).min_by_key(|at| left[*at]).unwrap_or(0));
    }
    let is_alone = |column: &&&Column| {
        let is_other = |(groups, _): &(usize, Candidate)| *groups != column.values;
        column.values >= LEAST_GROUPS && all.len() > 1 && candidates.iter().all(is_other)
    };
    let mut singles: Vec<&&Column> = columns.iter().filter(is_alone).collect();
    singles.sort_by_key(|column| std::cmp::Reverse(column.values));
    let single = |column: &&Column| Candidate {
        keys: column.codes.clone(),
        shared: Shared::Columns(vec![column.name.clone()]),
    };
    let singles: Vec<Candidate> = singles.into_iter().take(SINGLE_COLUMNS).map(single).collect();
    candidates.into_iter().map(|(_, candidate)| candidate).chain(singles).collect()
}

/// Returns whether a number is a monotone function of another one.
fn follows(column: &Column, other: &Column) -> bool {
    if !(column.is_number && other.is_number) {
        return false;
    }
    let mut by_other = vec![u64::MAX; other.values];
    let is_function = column.codes.iter().zip(&other.codes).all(|(code, at)| {
        let known = &mut by_other[*at as usize];
        let agrees = *known == u64::MAX || known == code;
        *known = *code;
        agrees
    });
    is_function && (by_other.is_sorted() || by_other.is_sorted_by(|a, b| a >= b))
}

/// Returns the clusters of inputs that are near in all numbers, or in all but one, and equal in categories: of each the reach at which
/// they are fewest beside those of shuffled columns.
fn near(dataset: &Dataset, numbers: usize) -> Vec<Candidate> {
    if dataset.usable.len() > MOST_NEAR || numbers < 2 {
        return Vec::new();
    }
    let all = Scaled::new(dataset);
    let without = (0..all.numbers.len()).filter(|_| (3..=MOST_NUMBERS).contains(&numbers)).map(Some);
    let sets: Vec<Option<usize>> = std::iter::once(None).chain(without).collect();
    let best = |without: Option<usize>| {
        let (scaled, shuffled) = (all.without(without), all.without(without).shuffled());
        let at = |reach: f64| {
            let keys = clusters(&scaled, reach);
            let groups = distinct(&keys);
            let is_many = with_fellow(&keys) >= LEAST_SHARE && largest(&keys) <= MOST_OF_ONE;
            let share =
                if is_many { groups as f64 / distinct(&clusters(&shuffled, reach)) as f64 } else { 1.0 };
            (share <= MOST_OF_SHUFFLED).then_some((share, keys))
        };
        let rated = REACHES.into_iter().filter_map(at);
        rated.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let found: Vec<_> = sets.into_par_iter().filter_map(best).collect();
    found.into_iter().map(|(_, keys)| Candidate { keys, shared: Shared::Nearness }).collect()
}

/// Returns stretches of the log whose errors go together, and the number of independent ones: as long that each counts once.
fn stretches(dataset: &Dataset, costs: &Costs, columns: &[Column], seed: u64) -> Option<(f64, Candidate)> {
    let mut order: Vec<usize> = (0..dataset.usable.len()).collect();
    order.sort_by_key(|&row| dataset.table.inputs[dataset.usable[row] as usize].position);
    if columns.iter().any(|column| next_correlation(&column.codes, &order).abs() > SORTED) {
        return None;
    }
    let longest = BLOCKS[BLOCKS.len() - 1];
    let step = order.len().div_ceil(MOST_INPUTS).max(1);
    let judged: Vec<usize> = order.chunks(longest).step_by(step).flatten().copied().collect();
    let inputs: Vec<u32> = judged.iter().map(|&row| dataset.usable[row]).collect();
    let errors = errors(dataset, costs, &inputs, &dataset.keys(SplitBy::Input, &inputs), seed);
    let count = order.len() as f64;
    let independent = BLOCKS.into_iter().filter(|block| block * 6 <= inputs.len()).filter_map(|block| {
        let keys: Vec<u64> = (0..inputs.len() as u64).map(|at| at / block as u64).collect();
        let common = common(&errors, &keys);
        // The products of independent errors have this spread, whatever their distribution.
        let error = (2.0 / (inputs.len() * (block - 1)) as f64).sqrt();
        let independent = count / (1.0 + common.max(0.0) * (block - 1) as f64);
        (common > BLOCK_ERRORS * error && independent <= BLOCK_SHARE * count).then_some(independent)
    });
    let independent = independent.min_by(f64::total_cmp)?;
    let length = (count / independent).ceil() as u64;
    let mut keys = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&row, at)| keys[row] = at / length);
    Some((independent, Candidate { keys, shared: Shared::Stretch }))
}

/// Returns the correlation of a column with its next value along the log.
fn next_correlation(codes: &[u64], order: &[usize]) -> f64 {
    let values: Vec<f64> = order.iter().map(|&row| codes[row] as f64).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let along: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    along / values.iter().map(|x| (x - mean).powi(2)).sum::<f64>().max(f64::MIN_POSITIVE)
}

/// Returns the share of the squared error that is common to a group, where the folds hold out whole groups, and how many independent
/// inputs that leaves.
fn common_to_groups(dataset: &Dataset, costs: &Costs, keys: &[u64], seed: u64) -> (f64, f64) {
    let mut sizes: FxHashMap<u64, usize> = FxHashMap::default();
    let mut rows: Vec<(u32, u64)> = Vec::new();
    for (&input, &key) in dataset.usable.iter().zip(keys) {
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
    let texts: Vec<String> = keys.iter().map(u64::to_string).collect();
    let common = common(&errors(dataset, costs, &inputs, &texts, seed), &keys);
    let (count, squares) = sizes
        .values()
        .fold((0.0, 0.0), |(count, squares), &size| (count + size as f64, squares + (size as f64).powi(2)));
    (common, count / (1.0 + common.clamp(0.0, 1.0) * (squares / count - 1.0)))
}

/// Returns the mean product of the errors of two inputs of a group, as a share of the mean square. Errors of one choice are compared,
/// less its mean error.
fn common(errors: &[Vec<(ChoiceId, f64)>], keys: &[u64]) -> f64 {
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
    let [mut pairs, mut products, mut count, mut squares] = [0.0; 4];
    for [n, sum, square] in cells.into_values() {
        (pairs, products) = (pairs + n * (n - 1.0), products + sum * sum - square);
        (count, squares) = (count + n, squares + square);
    }
    let mean_square = squares / f64::max(count, 1.0);
    if pairs == 0.0 || mean_square < 1e-12 { 0.0 } else { products / pairs / mean_square }
}

/// Returns by input the errors of its costs, as a tree predicts them that folds by these keys kept the input from. Its leaves hold
/// single inputs, so that it remembers what it can: with leaves of 3 it overlooked pairs.
fn errors(
    data: &Dataset,
    costs: &Costs,
    inputs: &[u32],
    keys: &[String],
    seed: u64,
) -> Vec<Vec<(ChoiceId, f64)>> {
    let judged = |part: split::Partition| {
        let RankedFeatures { columns, .. } = data.ranked_without(&part.training, &Default::default());
        let tree = CostTree::new(20, 1).grow(&FitRows { columns: &columns, inputs: &part.training }, costs);
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

/// Returns the share of the keys that are equal to the most frequent one.
fn largest(keys: &[u64]) -> f64 {
    let mut sizes: FxHashMap<u64, usize> = FxHashMap::default();
    keys.iter().for_each(|&key| *sizes.entry(key).or_default() += 1);
    sizes.into_values().max().unwrap_or(0) as f64 / keys.len().max(1) as f64
}

/// Returns the number of distinct keys.
fn distinct(keys: &[u64]) -> usize {
    keys.iter().collect::<FxHashSet<_>>().len()
}

/// Returns the share of the keys that occur more than once.
fn with_fellow(keys: &[u64]) -> f64 {
    let mut sizes: FxHashMap<u64, usize> = FxHashMap::default();
    keys.iter().for_each(|&key| *sizes.entry(key).or_default() += 1);
    let with: usize = sizes.values().filter(|size| **size > 1).sum();
    with as f64 / keys.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::params::Params;

    /// Returns a number from 0 to 1 that follows no rule.
    fn random(at: usize, of: u64) -> f64 {
        ah_types::random::fraction(of, at as u64)
    }

    /// Finds the dependence of a log of these columns: `input` returns the values, and how many times as long as `old` the choice
    /// `new` takes.
    fn dependence(columns: &[&str], inputs: usize, input: impl Fn(usize) -> (Vec<f64>, f64)) -> Dependence {
        let mut log = format!(
            "{{\"name\": \"own\", \"shared_memory\": 0, \"device_capa\": [0, 0], \"numerical_features\": {columns:?}, \
             \"categorical_features\": []}}\n{},choice,feedback\n",
            columns.join(",")
        );
        for at in 0..inputs {
            let (values, time) = input(at);
            let text = values.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
            let noise = 1.0 + 0.01 * random(at, 99);
            let _ = writeln!(log, "{text},old,1\n{text},new,{}", time * noise);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.txt");
        std::fs::write(&path, log).unwrap();
        find(&Dataset::read(&Params::new(vec![path], "T")).unwrap(), 0)
    }

    /// The time of a group: it follows no feature.
    fn of_group(group: usize) -> f64 {
        0.5 + random(group, 7)
    }

    fn named(names: &[&str]) -> Option<Shared> {
        Some(Shared::Columns(names.iter().map(|name| (*name).to_owned()).collect()))
    }

    #[test]
    fn few_files_at_many_levels_are_groups() {
        let file = |at: usize| {
            let values = [1, 2, 3].map(|of| random(at / 50, of)).to_vec();
            ([values, vec![(1000.0 * random(at, 4)).ceil()]].concat(), of_group(at / 50))
        };
        let found = dependence(&["size", "entropy", "lines", "level"], 1200, file);
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["size", "entropy", "lines"]));
    }

    #[test]
    fn settings_may_be_any_columns() {
        // Two columns name the group, in five batch sizes and two types; or three numbers are free.
        let variant = |at: usize| {
            let (group, copy) = (at / 10, at % 10);
            (
                vec![random(group, 1), (1 << (copy / 2)) as f64, random(group, 2), (copy % 2) as f64],
                of_group(group),
            )
        };
        let found = dependence(&["m", "batch", "n", "type"], 600, variant);
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["m", "n"]));
        let free = |at: usize| {
            let values =
                [random(at, 3), random(at / 20, 1), random(at, 4), random(at / 20, 2), random(at, 5)];
            (values.to_vec(), of_group(at / 20))
        };
        let found = dependence(&["a", "m", "b", "n", "c"], 600, free);
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["m", "n"]));
    }

    #[test]
    fn inputs_that_are_near_in_all_numbers_are_groups() {
        // In a run all numbers are near, or grow and shrink together.
        for together in [false, true] {
            let run = |at: usize| {
                let scale = 0.8 + 0.4 * random(at, 4);
                let value = |of: u64| match (random(at / 30, of), together) {
                    (base, true) => base * scale,
                    (base, false) => base + 0.01 * random(at, 10 + of),
                };
                ([1, 2, 3].map(value).to_vec(), of_group(at / 30))
            };
            let found = dependence(&["a", "b", "c"], 720, run);
            assert_eq!(found.groups.map(|groups| groups.shared), Some(Shared::Nearness), "{together}");
        }
    }

    #[test]
    fn times_that_change_along_the_log_are_groups() {
        let time = |stretch: usize| {
            move |at: usize| ([1, 2].map(|of| random(at, of)).to_vec(), of_group(at / stretch))
        };
        let found = dependence(&["a", "b"], 800, time(40)).groups.unwrap();
        assert_eq!(found.shared, Shared::Stretch);
        let count = found.keys.iter().collect::<FxHashSet<_>>().len();
        assert!((12..=40).contains(&count), "{count}");
        assert!(dependence(&["a", "b"], 800, time(1)).groups.is_none());
        // In a sorted table neighbours are near in features.
        let sorted = |at: usize| (vec![at as f64, random(at, 2)], if at / 40 % 2 == 0 { 0.5 } else { 1.5 });
        assert!(dependence(&["a", "b"], 800, sorted).groups.is_none());
    }

    #[test]
    fn a_column_of_few_values_is_a_factor() {
        // Half of the inputs have the share 0 or 1, as lists that are sorted.
        let input = |at: usize| {
            let share = [0.0, 1.0, (random(at, 2) * 32.0).round() / 32.0, 0.5][at % 4];
            let length = (random(at, 1) * 20.0).exp2().floor();
            let time = if share == 0.0 || share == 1.0 { 0.5 } else { 0.9 + share * length.log2() / 20.0 };
            (vec![length, share], time)
        };
        let found = dependence(&["length", "share"], 800, input);
        assert!(found.groups.is_none(), "{:?}", found.groups.map(|groups| groups.shared));
    }

    #[test]
    fn a_grid_has_no_groups() {
        let input = |at: usize| {
            let values = [at % 8, at / 8 % 10, at / 80].map(|x| (1 << x) as f64);
            let time = if values[0] * values[1] > values[2] * 16.0 { 0.6 } else { 1.4 };
            (values.to_vec(), time)
        };
        assert!(dependence(&["m", "n", "k"], 800, input).groups.is_none());
    }
}
