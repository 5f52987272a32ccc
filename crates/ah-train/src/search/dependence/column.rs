//! The features of a log, as the search for groups compares them.

use std::cmp::Reverse;

use ah_model::expr::{Binary, Expr};
use ah_model::hash::fnv1a;
use ah_model::math::ln;
use ah_model::{DEVICE_FEATURES, Feature, FeatureKind, Scalar};
use ah_types::random::mix;

use super::groups::{LEAST_SHARE, sizes_of};
use crate::data::Dataset;

/// An entity has a column of at least this many values. Convolutions have four pairs of strides, which are factors.
pub(super) const MANY_VALUES: usize = 6;
/// Two columns determine each other where the one with fewer values has this share of their pairs of values.
const DETERMINED: f64 = 0.75;
/// A column that rises or falls with another one over this share of their pairs says the same: `rows` and `columns` of matrices that are
/// mostly square, `k` and a stride of a matrix that is mostly contiguous (0.78 on mm HF).
const RISES: f64 = 0.7;

/// Most positive numbers whose ratios are columns: those with the most values.
const MOST_DIVIDED: usize = 6;
/// Logarithms of ratios are equal up to this: a factor that two numbers share leaves rounding errors.
const RATIO_UNIT: f64 = 1e-9;

/// A feature, or the logarithm of the ratio of two, on the usable inputs.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) is_number: bool,
    /// The values; a hash of a category.
    pub(super) values: Vec<f64>,
    /// The values in an order that no other feature has; the ratio of such values.
    pub(super) shuffled: Vec<f64>,
    /// The values as ranks.
    pub(super) codes: Vec<u64>,
    pub(super) distinct: usize,
    /// A ratio of more values than one of its numbers is no candidate.
    most: usize,
}

impl Column {
    fn new(name: String, is_number: bool, values: Vec<f64>, shuffled: Vec<f64>) -> Self {
        let mut distinct = values.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let code = |value| distinct.partition_point(|other| other < value) as u64;
        let codes = values.iter().map(code).collect();
        Self { name, is_number, values, shuffled, codes, distinct: distinct.len(), most: usize::MAX }
    }

    fn of_feature(dataset: &Dataset, slot: usize, feature: &Feature) -> Self {
        let value = |&input: &u32| match dataset.table.inputs[input as usize].values[slot].as_scalar() {
            Scalar::Number(x) if x.is_finite() => x + 0.0,
            Scalar::Number(_) => 0.0,
            Scalar::Bool(truth) => f64::from(u8::from(truth)),
            Scalar::Category(name) => fnv1a(name) as f64,
        };
        let values: Vec<f64> = dataset.usable.iter().map(value).collect();
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(|&row| mix(slot as u64, row as u64));
        let shuffled = order.into_iter().map(|row| values[row]).collect();
        Self::new(feature.name.clone(), feature.kind == FeatureKind::Numerical, values, shuffled)
    }

    /// The logarithm of the ratio of two positive numbers.
    fn ratio(&self, other: &Self) -> Self {
        let ratio = |(a, b): (&f64, &f64)| ((ln(*a) - ln(*b)) / RATIO_UNIT).round() * RATIO_UNIT + 0.0;
        let ratios = |a: &[f64], b: &[f64]| a.iter().zip(b).map(ratio).collect();
        let [a, b] = [self, other].map(|column| Expr::Feature(column.name.clone()));
        let name = Expr::binary(Binary::Div, a, b).to_string();
        let (values, shuffled) =
            (ratios(&self.values, &other.values), ratios(&self.shuffled, &other.shuffled));
        Self { most: self.distinct.min(other.distinct), ..Self::new(name, true, values, shuffled) }
    }

    /// Whether it can be divided by and divide others.
    pub(super) fn is_positive(&self) -> bool {
        self.is_number && self.values.iter().all(|x| *x > 0.0)
    }

    /// Whether it is a monotone function of another number.
    pub(super) fn follows(&self, other: &Self) -> bool {
        let mut by_other = vec![u64::MAX; other.distinct];
        let is_function = self.codes.iter().zip(&other.codes).all(|(code, at)| {
            let known = std::mem::replace(&mut by_other[*at as usize], *code);
            known == u64::MAX || known == *code
        });
        let is_monotone = by_other.is_sorted() || by_other.is_sorted_by(|a, b| a >= b);
        self.is_number && other.is_number && is_function && is_monotone
    }

    /// Whether this column and another one determine each other, as the size and the entropy of a file, and neither is
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

/// The length of the longest subsequence that rises.
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

/// The features that vary, without those of the device.
pub(super) fn columns(dataset: &Dataset) -> Vec<Column> {
    let schema = dataset.features.base().features();
    let own = schema.iter().enumerate().filter(|(_, feature)| !DEVICE_FEATURES.contains(&&*feature.name));
    let columns = own.map(|(slot, feature)| Column::of_feature(dataset, slot, feature));
    columns.filter(|column| column.distinct > 1).collect()
}

/// The ratios of positive numbers that vary.
pub(super) fn ratios(columns: &[Column]) -> Vec<Column> {
    let mut positive: Vec<&Column> = columns.iter().filter(|column| column.is_positive()).collect();
    positive.sort_by_key(|column| Reverse(column.distinct));
    positive.truncate(MOST_DIVIDED);
    let pairs = positive.iter().enumerate().flat_map(|(at, a)| positive[at + 1..].iter().map(|b| a.ratio(b)));
    pairs.filter(|column| column.distinct > 1).collect()
}

/// The columns whose values mostly recur, without those that follow another.
pub(super) fn recurring(all: &[Column]) -> Vec<&Column> {
    let mut columns: Vec<&Column> = Vec::new();
    let recurs = |column: &&Column| {
        column.distinct < column.most && sizes_of(&column.codes).with_fellow >= LEAST_SHARE
    };
    for column in all.iter().filter(recurs) {
        // `bytes = 2 * n` says what `n` says.
        if !columns.iter().any(|other| column.follows(other)) {
            columns.retain(|other| !other.follows(column));
            columns.push(column);
        }
    }
    columns
}
