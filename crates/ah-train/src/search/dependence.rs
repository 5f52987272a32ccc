//! Finds groups: inputs that share something that no feature says, such as the levels of one file, or the batch sizes of one shape.
//!
//! Held out one by one, the other inputs of a group stay behind and give the answer away: losses look smaller than on new groups, and
//! a promise takes copies for evidence. Groups count for the promise, for the noise of a comparison, and for the loss on new groups.
//! Sizes are compared on single inputs.
//!
//! Columns that determine each other and recur, as `size` and `lines` of a file, name one thing ([`entity`]), whatever its times are: of
//! 24 files none may be slow, and the 25th is. Other candidates recur too: most of their inputs have a fellow, and there are far fewer
//! groups than in a log whose columns are shuffled, while all combinations of the factors of a grid occur. Such a candidate counts where
//! the inputs of a group share most of the error of a tree that never saw the group ([`COMMON`]).

use ah_model::math::ln;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use ah_model::hash::fnv1a;
use ah_model::{ChoiceId, DEVICE_FEATURES, Feature, FeatureKind, Scalar};
use ah_types::random::mix;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::clusters::{clusters, in_ranges};
use crate::data::split;
use crate::data::{COST_ONE, Costs, Dataset, FitRows, Groups, RankedFeatures, Shared};
use crate::learners::CostTree;
use crate::params::SplitBy;
use crate::plan::SEARCH_FOLDS;

/// The share of the inputs that must have a fellow.
const LEAST_SHARE: f64 = 0.6;
/// The most groups, as a share of those of shuffled columns. Pairs have half of them, full grids 0.9 to 1.
const MOST_OF_SHUFFLED: f64 = 0.7;
/// From this share of the squared error on that is common to a group, each group counts as one input. It is 0.87 to 1.00 in
/// simulated groups, and at most 0.57 in 83 sets of columns and clusters of 12 published logs.
const COMMON: f64 = 0.7;
/// A tree errs this many times as much (squared) on whole groups as on single inputs, whose fellows give the answer away: 1.9 times or
/// more in simulated groups.
const MORE: f64 = 1.5;
/// A smaller difference of the squared errors, which are logarithms of times, is none: two of 1,000 inputs that are a fifth slower.
const LEAST_MORE: f64 = 1e-4;
/// This many times as much counts however small it is: of 24 files without a slow one the error is small, and the 25th may be slow.
const FAR_MORE: f64 = 5.0;
/// It errs this many times as much on the groups of a coarser set of columns: fellows of the finer groups gave the answer away. Of
/// shapes in two types and five batch sizes, two groups of one shape are rarely in one fold.
const MORE_BY_COARSER: f64 = 1.2;
/// Below this many independent groups a single column is a factor: whoever measured chose its values, and the promise is for these.
const LEAST_OF_COLUMN: f64 = 20.0;
/// An entity has a column of at least this many values. Convolutions have four pairs of strides, which are factors.
const MANY_VALUES: usize = 6;
/// Fewest groups: folds need some.
const LEAST_GROUPS: usize = 3;
/// Most inputs on which a candidate is judged, and most of one group.
const MOST_INPUTS: usize = 4000;
const MOST_FELLOWS: usize = 20;
/// Two columns determine each other where the one with fewer values has this share of their pairs of values.
const DETERMINED: f64 = 0.75;
/// A column that rises or falls with another one over this share of their pairs says the same: `rows` and `columns` of matrices that are
/// mostly square, `k` and a stride of a matrix that is mostly contiguous (0.78 on mm HF).
const RISES: f64 = 0.7;
/// Single columns that are candidates: those with the most values.
const SINGLE_COLUMNS: usize = 4;

/// The largest share of the inputs in one cluster. Where more are connected, the reach is as great as the gaps are: lists of all
/// lengths whose `ascending` is 0 or 1 became two of four clusters.
const MOST_OF_ONE: f64 = 0.25;
/// Nearness is computed for at most this many inputs.
const MOST_NEAR: usize = 6000;
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

/// The dependence that a log shows.
#[derive(Clone, Debug, Default)]
pub struct Dependence {
    /// The groups that count.
    pub groups: Option<Groups>,
    /// A sentence about a column of few values, on whose other values a tree loses more, where nothing is a group.
    pub factor: Option<String>,
}

/// Finds the dependence of a dataset's inputs: columns that determine each other; else the finest set of columns that counts, unless a
/// tree errs much more on the groups of a coarser one; else clusters; or stretches of the log where these are fewer.
pub fn find(dataset: &Dataset, seed: u64) -> Dependence {
    let costs = Costs::new(&dataset.table, None).saturated();
    let columns = columns(dataset);
    let mut factor = None;
    let mut counted = |candidate: Candidate| {
        let evidence = Evidence::new(dataset, &costs, &candidate.keys, seed);
        match &candidate.shared {
            _ if !evidence.counts() => None,
            Shared::Columns(names) if names.len() == 1 && evidence.independent < LEAST_OF_COLUMN => {
                factor = columns.iter().find(|column| column.name == names[0]);
                None
            }
            _ => Some((evidence, candidate)),
        }
    };
    let recurring = recurring(&columns);
    let by_errors = || {
        let mut found: Option<(Evidence, Candidate)> = None;
        for next in sets(recurring.clone(), columns.len() == 1).into_iter().filter_map(&mut counted) {
            if found.as_ref().is_none_or(|(finer, _)| next.0.square > MORE_BY_COARSER * finer.square) {
                found = Some(next);
            }
        }
        let found = found.or_else(|| near(&columns).into_iter().find_map(&mut counted));
        found.map(|(evidence, candidate)| (evidence.independent, candidate))
    };
    let by_features = entity(&recurring).or_else(by_errors);
    let by_time = stretches(dataset, &costs, &columns, seed);
    let fewest = by_features.into_iter().chain(by_time).min_by(|a, b| a.0.total_cmp(&b.0));
    let groups = fewest.map(|(_, Candidate { keys, shared })| {
        let mut of_table = vec![u64::MAX; dataset.table.inputs.len()];
        dataset.usable.iter().zip(keys).for_each(|(&input, key)| of_table[input as usize] = key);
        Groups { keys: of_table.into(), shared }
    });
    let factor = factor.filter(|column| (column.is_number || column.distinct >= MANY_VALUES) && groups.is_none()).map(|column| {
        format!(
            "the log has {} values of {}, and they recur: all figures, and a promise, are for these values. Measure others if the \
             program meets others",
            column.distinct, column.name
        )
    });
    Dependence { groups, factor }
}

/// Groups of the usable inputs, before it is known whether they matter.
struct Candidate {
    keys: Vec<u64>,
    shared: Shared,
}

/// A feature on the usable inputs.
struct Column {
    name: String,
    is_number: bool,
    /// The values; a hash of a category.
    values: Vec<f64>,
    /// The values as ranks.
    codes: Vec<u64>,
    /// The rows in an order of its own.
    order: Vec<usize>,
    distinct: usize,
}

impl Column {
    fn new(dataset: &Dataset, slot: usize, feature: &Feature) -> Self {
        let value = |&input: &u32| match dataset.table.inputs[input as usize].values[slot].as_scalar() {
            Scalar::Number(x) if x.is_finite() => x + 0.0,
            Scalar::Number(_) => 0.0,
            Scalar::Bool(truth) => f64::from(u8::from(truth)),
            Scalar::Category(name) => fnv1a(name) as f64,
        };
        let values: Vec<f64> = dataset.usable.iter().map(value).collect();
        let mut distinct = values.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let code = |value| distinct.partition_point(|other| other < value) as u64;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(|&row| mix(slot as u64, row as u64));
        Self {
            name: feature.name.clone(),
            is_number: feature.kind == FeatureKind::Numerical,
            codes: values.iter().map(code).collect(),
            values,
            order,
            distinct: distinct.len(),
        }
    }

    /// Returns a number in units of its range, or whole numbers for categories; `None` for a number that hardly varies.
    fn in_ranges(&self) -> Option<Vec<f64>> {
        match self.is_number {
            true => in_ranges(self.values.clone()),
            false => Some(self.codes.iter().map(|code| *code as f64).collect()),
        }
    }

    /// Returns whether it is a monotone function of another number.
    fn follows(&self, other: &Self) -> bool {
        let mut by_other = vec![u64::MAX; other.distinct];
        let is_function = self.codes.iter().zip(&other.codes).all(|(code, at)| {
            let known = std::mem::replace(&mut by_other[*at as usize], *code);
            known == u64::MAX || known == *code
        });
        let is_monotone = by_other.is_sorted() || by_other.is_sorted_by(|a, b| a >= b);
        self.is_number && other.is_number && is_function && is_monotone
    }

    /// Returns whether this column and another one determine each other, as the size and the entropy of a file, and neither is
    /// computed from the other.
    fn identifies(&self, other: &Self) -> bool {
        let mut pairs: Vec<(u64, u64)> =
            self.codes.iter().copied().zip(other.codes.iter().copied()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let fewest = self.distinct.min(other.distinct);
        let second = pairs.iter().map(|pair| pair.1);
        let longest = longest_rise(second.clone()).max(longest_rise(second.rev())) as f64;
        let is_number = self.is_number && other.is_number;
        fewest >= MANY_VALUES
            && fewest as f64 >= DETERMINED * pairs.len() as f64
            && (!is_number || longest < RISES * pairs.len() as f64)
    }
}

/// Returns the length of the longest subsequence that rises.
fn longest_rise(values: impl Iterator<Item = u64>) -> usize {
    // By length, the least last value of such a subsequence.
    let mut last: Vec<u64> = Vec::new();
    for value in values {
        let length = last.partition_point(|least| *least < value);
        match last.get_mut(length) {
            Some(least) => *least = value,
            None => last.push(value),
        }
    }
    last.len()
}

/// Returns the fewest groups of columns that determine each other: the inputs of one thing, such as a file, whatever their times are.
fn entity(columns: &[&Column]) -> Option<(f64, Candidate)> {
    let mut parts: Vec<usize> = (0..columns.len()).collect();
    for (at, column) in columns.iter().enumerate() {
        for other in (0..at).filter(|&other| column.identifies(columns[other])) {
            let (from, to) = (parts[at], parts[other]);
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

/// Returns the features that vary, without those of the device.
fn columns(dataset: &Dataset) -> Vec<Column> {
    let schema = dataset.features.base().features();
    let own = schema.iter().enumerate().filter(|(_, feature)| !DEVICE_FEATURES.contains(&&*feature.name));
    let columns = own.map(|(slot, feature)| Column::new(dataset, slot, feature));
    columns.filter(|column| column.distinct > 1).collect()
}

/// Returns the columns of which most values recur, without those that follow another.
fn recurring(all: &[Column]) -> Vec<&Column> {
    let mut columns: Vec<&Column> = Vec::new();
    for column in all.iter().filter(|column| sizes_of(&column.codes).with_fellow >= LEAST_SHARE) {
        // `bytes = 2 * n` says what `n` says.
        if !columns.iter().any(|other| column.follows(other)) {
            columns.retain(|other| !other.follows(column));
            columns.push(column);
        }
    }
    columns
}

/// Returns the sets of columns that recur together, the finest first, without sets that make the same groups; then single columns.
fn sets(mut columns: Vec<&Column>, is_only: bool) -> Vec<Candidate> {
    let mut candidates: Vec<(usize, Candidate)> = Vec::new();
    let mut set = columns.clone();
    // From all columns down: the column goes without which the fewest groups are left.
    while set.len() > 1 {
        let keys = row_keys(&set, |column, row| column.codes[row]);
        let (sizes, shuffled) =
            (sizes_of(&keys), sizes_of(&row_keys(&set, |column, row| column.codes[column.order[row]])));
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

/// Returns by row a hash of its codes.
fn row_keys(set: &[&Column], code: impl Fn(&Column, usize) -> u64) -> Vec<u64> {
    let key = |row| set.iter().fold(0, |key, column| mix(key, code(column, row)));
    (0..set[0].codes.len()).map(key).collect()
}

/// Returns the clusters of inputs that are near in all numbers and equal in categories; then those that are near in the ratios of their
/// numbers, as the sizes of a run that grow together.
fn near(columns: &[Column]) -> Vec<Candidate> {
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
        let [common, _] = common(&errors, &keys);
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

/// What folds that hold out whole groups show.
struct Evidence {
    /// The share of the squared error that is common to a group.
    common: f64,
    /// The mean squared error.
    square: f64,
    /// The one of folds that hold out single inputs.
    by_input: f64,
    /// The independent inputs that this leaves.
    independent: f64,
}

impl Evidence {
    fn new(dataset: &Dataset, costs: &Costs, all: &[u64], seed: u64) -> Self {
        let mut sizes: FxHashMap<u64, usize> = FxHashMap::default();
        let mut rows: Vec<(u32, u64)> = Vec::new();
        for (&input, &key) in dataset.usable.iter().zip(all) {
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
        let independent = sizes_of(all).independent(common);
        let [_, by_input] = judged(&dataset.keys(SplitBy::Input, &inputs));
        Self { common, square, by_input, independent }
    }

    /// Returns whether the inputs of a group are no independent evidence.
    fn counts(&self) -> bool {
        let more = self.square - self.by_input;
        self.common >= COMMON
            && self.square > MORE * self.by_input
            && (more >= LEAST_MORE || self.square > FAR_MORE * self.by_input)
    }
}

/// Returns the products of the errors of two inputs of a group as a share of what they are if all errors of a group are equal, and
/// the mean square. Errors of one choice are compared, less its mean error.
fn common(errors: &[Vec<(ChoiceId, f64)>], keys: &[u64]) -> [f64; 2] {
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

/// How large groups are.
struct Sizes {
    groups: usize,
    /// The share of the inputs that have a fellow.
    with_fellow: f64,
    /// The share of the inputs in the largest one.
    largest: f64,
    inputs: f64,
    /// The sum of the squared sizes.
    squares: f64,
}

impl Sizes {
    /// Returns the number of independent inputs where this share of an input is common to its group.
    fn independent(&self, common: f64) -> f64 {
        self.inputs / (1.0 + common.clamp(0.0, 1.0) * (self.squares / self.inputs - 1.0))
    }
}

fn sizes_of(keys: &[u64]) -> Sizes {
    let mut sizes: FxHashMap<u64, usize> = FxHashMap::default();
    keys.iter().for_each(|&key| *sizes.entry(key).or_default() += 1);
    let share = |inputs: usize| inputs as f64 / keys.len().max(1) as f64;
    Sizes {
        groups: sizes.len(),
        with_fellow: share(sizes.values().filter(|size| **size > 1).sum()),
        largest: share(sizes.values().copied().max().unwrap_or(0)),
        inputs: keys.len() as f64,
        squares: sizes.values().map(|size| (*size as f64).powi(2)).sum(),
    }
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
    fn columns_that_determine_each_other_are_groups_where_no_group_is_slow() {
        let file = |at: usize| ([1, 2].map(|of| random(at / 50, of)).to_vec(), 0.7);
        let found = dependence(&["size", "entropy", "level"], 1200, |at| {
            let (values, time) = file(at);
            ([values, vec![random(at, 4)]].concat(), time)
        });
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["size", "entropy"]));
        // Matrices that are mostly square, in several densities.
        let matrix = |at: usize| {
            let rows = (1000.0 * random(at / 5, 1)).floor();
            let columns = if (at / 5).is_multiple_of(10) { rows + 500.0 } else { rows };
            (vec![rows, columns, random(at, 2)], 0.7)
        };
        assert!(dependence(&["rows", "columns", "density"], 800, matrix).groups.is_none());
    }

    #[test]
    fn groups_that_differ_little_are_groups() {
        // Of shapes of powers of two no number determines another; they differ by up to 2 %.
        let shape = |at: usize| {
            let power = |of| f64::from(1 << (8.0 * random(at / 10, of)) as u32);
            let values = vec![power(1), power(2), power(3), (at % 10) as f64];
            (values, 0.7 + 0.02 * (of_group(at / 10) - 1.0))
        };
        let found = dependence(&["m", "n", "k", "batch"], 1200, shape);
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["m", "n", "k"]));
    }

    #[test]
    fn settings_may_be_any_columns() {
        // Two columns name the group, in five batch sizes and two types; or three numbers are free.
        let variant = |at: usize| {
            let (group, copy) = (at / 10, at % 10);
            (
                vec![random(group, 1), f64::from(1 << (copy / 2)), random(group, 2), (copy % 2) as f64],
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
    fn short_runs_whose_numbers_grow_together_are_groups() {
        let run = |at: usize| {
            let scale = 0.8 + 0.4 * random(at, 4);
            ([1, 2, 3].map(|of| scale * random(at / 12, of)).to_vec(), of_group(at / 12))
        };
        let found = dependence(&["a", "b", "c"], 1200, run).groups.unwrap();
        let count = sizes_of(&found.keys).groups;
        assert!(found.shared == Shared::Nearness && (90..=110).contains(&count), "{count}");
    }

    #[test]
    fn times_that_change_along_the_log_are_groups() {
        let time = |stretch: usize| {
            move |at: usize| ([1, 2].map(|of| random(at, of)).to_vec(), of_group(at / stretch))
        };
        let found = dependence(&["a", "b"], 800, time(40)).groups.unwrap();
        assert_eq!(found.shared, Shared::Stretch);
        let count = sizes_of(&found.keys).groups;
        assert!((12..=40).contains(&count), "{count}");
        assert!(dependence(&["a", "b"], 800, time(1)).groups.is_none());
        // In a sorted table neighbours are near in features.
        let sorted =
            |at: usize| (vec![at as f64, random(at, 2)], if (at / 40).is_multiple_of(2) { 0.5 } else { 1.5 });
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
            let values = [at % 8, at / 8 % 10, at / 80].map(|x| f64::from(1 << x));
            let time = if values[0] * values[1] > values[2] * 16.0 { 0.6 } else { 1.4 };
            (values.to_vec(), time)
        };
        assert!(dependence(&["m", "n", "k"], 800, input).groups.is_none());
    }
}
