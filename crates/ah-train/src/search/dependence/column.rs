//! The features of a log, as the search for groups compares them.

use ah_model::hash::fnv1a;
use ah_model::{DEVICE_FEATURES, Feature, FeatureKind, Scalar};
use ah_types::random::mix;

use super::clusters::in_ranges;
use super::groups::{LEAST_SHARE, sizes_of};
use crate::data::Dataset;

/// An entity has a column of at least this many values. Convolutions have four pairs of strides, which are factors.
pub(super) const MANY_VALUES: usize = 6;
/// Two columns determine each other where the one with fewer values has this share of their pairs of values.
const DETERMINED: f64 = 0.75;
/// A column that rises or falls with another one over this share of their pairs says the same: `rows` and `columns` of matrices that are
/// mostly square, `k` and a stride of a matrix that is mostly contiguous (0.78 on mm HF).
const RISES: f64 = 0.7;

/// A feature on the usable inputs.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) is_number: bool,
    /// The values; a hash of a category.
    pub(super) values: Vec<f64>,
    /// The values as ranks.
    pub(super) codes: Vec<u64>,
    /// The rows in an order of its own.
    pub(super) order: Vec<usize>,
    pub(super) distinct: usize,
}

impl Column {
    pub(super) fn new(dataset: &Dataset, slot: usize, feature: &Feature) -> Self {
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
    pub(super) fn in_ranges(&self) -> Option<Vec<f64>> {
        match self.is_number {
            true => in_ranges(self.values.clone()),
            false => Some(self.codes.iter().map(|code| *code as f64).collect()),
        }
    }

    /// Returns whether it is a monotone function of another number.
    pub(super) fn follows(&self, other: &Self) -> bool {
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
    pub(super) fn identifies(&self, other: &Self) -> bool {
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

/// Returns the features that vary, without those of the device.
pub(super) fn columns(dataset: &Dataset) -> Vec<Column> {
    let schema = dataset.features.base().features();
    let own = schema.iter().enumerate().filter(|(_, feature)| !DEVICE_FEATURES.contains(&&*feature.name));
    let columns = own.map(|(slot, feature)| Column::new(dataset, slot, feature));
    columns.filter(|column| column.distinct > 1).collect()
}

/// Returns the columns whose values mostly recur, without those that follow another.
pub(super) fn recurring(all: &[Column]) -> Vec<&Column> {
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
