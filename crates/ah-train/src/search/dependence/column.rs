//! The features of a log, as the search for groups compares them.

use std::cmp::Reverse;

use ah_model::expr::{Binary, Expr};
use ah_model::hash::fnv1a;
use ah_model::math::ln;
use ah_model::{DEVICE_FEATURES, Feature, FeatureKind, Scalar};
use ah_types::random::mix;

use crate::data::Dataset;

/// An entity has a column of at least this many values. Convolutions have four pairs of strides, which are factors.
pub(super) const MANY_VALUES: usize = 6;
/// Two columns determine each other where the one with fewer values has this share of their pairs of values.
const DETERMINED: f64 = 0.75;
/// A column that rises or falls with another one over this share of their pairs says the same: `rows` and `columns` of matrices that are
/// mostly square, `k` and a stride of a matrix that is mostly contiguous (0.78 on mm HF).
const RISES: f64 = 0.7;
/// Two numbers name one thing too where they have this share of the pairs of values that shuffled columns have, and the one with fewer
/// values has a third of them. Shapes of 14 models have 0.11 or 0.12; 0.15 or more on published logs, or 0.10 where one number is
/// computed from the other.
pub(super) const FEW_PAIRS: f64 = 0.15;
const PARTLY_DETERMINED: f64 = 0.3;
/// Pairs without order rise over 2 square roots of their number; those of a number and one that is computed from it over far more.
const RISES_BY_CHANCE: f64 = 3.0;

/// Most positive numbers that are combined: those with the most values.
const MOST_COMBINED: usize = 6;
/// Logarithms of combined numbers are equal up to this: a factor that two numbers share leaves rounding errors.
const LOGARITHM_UNIT: f64 = 1e-9;

/// A feature, or the logarithm of a combination of two, such as their ratio, on the usable inputs.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) is_number: bool,
    /// The values; a hash of a category.
    pub(super) values: Vec<f64>,
    /// The values in an order that no other feature has; the combination of such values.
    pub(super) shuffled: Vec<f64>,
    /// The values as ranks.
    pub(super) codes: Vec<u64>,
    pub(super) distinct: usize,
    /// A combination of more values than one of its numbers is no candidate.
    pub(super) most: usize,
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
        let value = |&input: &u32| match dataset.table.values(input)[slot].as_scalar() {
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

    /// The logarithm of the ratio, product, sum or distance of two positive numbers.
    fn combined(&self, other: &Self, by: Binary) -> Self {
        let logarithm = |(a, b): (&f64, &f64)| {
            let logarithm = match by {
                Binary::Div => ln(*a) - ln(*b),
                Binary::Mul => ln(*a) + ln(*b),
                Binary::Add => ln(a + b),
                _ => ln((a - b).abs()),
            };
            (logarithm / LOGARITHM_UNIT).round() * LOGARITHM_UNIT + 0.0
        };
        let logarithms = |a: &[f64], b: &[f64]| a.iter().zip(b).map(logarithm).collect();
        let [a, b] = [self, other].map(|column| Expr::Feature(column.name.clone()));
        let name = Expr::binary(by, a, b).to_string();
        let values = logarithms(&self.values, &other.values);
        let shuffled = logarithms(&self.shuffled, &other.shuffled);
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

    /// Whether this column and another one name one thing, as the size and the entropy of a file, and neither is computed from
    /// the other.
    pub(super) fn identifies(&self, other: &Self) -> bool {
        let pairs = self.pairs(other);
        let fewest = self.distinct.min(other.distinct);
        let count = pairs.len() as f64;
        let is_number = self.is_number && other.is_number;
        let longest = longest_monotone(&pairs) as f64;
        let is_determined = || fewest as f64 >= DETERMINED * count && (!is_number || longest < RISES * count);
        let is_rare = || {
            let shuffled = self.shuffled.iter().zip(&other.shuffled).map(|(a, b)| (a.to_bits(), b.to_bits()));
            let by_chance = distinct_pairs(shuffled).len() as f64;
            is_number && longest <= RISES_BY_CHANCE * count.sqrt() && count <= FEW_PAIRS * by_chance
        };
        fewest >= MANY_VALUES && fewest as f64 >= PARTLY_DETERMINED * count && (is_determined() || is_rare())
    }

    /// The share of the pairs of values over which this number rises or falls with another one.
    pub(super) fn rises_with(&self, other: &Self) -> f64 {
        let pairs = self.pairs(other);
        longest_monotone(&pairs) as f64 / pairs.len().max(1) as f64
    }

    /// The pairs of values with another column, sorted.
    fn pairs(&self, other: &Self) -> Vec<(u64, u64)> {
        distinct_pairs(self.codes.iter().copied().zip(other.codes.iter().copied()))
    }
}

fn distinct_pairs(pairs: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut pairs: Vec<(u64, u64)> = pairs.collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The length of the longest subsequence of these sorted pairs whose second values rise, or fall.
fn longest_monotone(pairs: &[(u64, u64)]) -> usize {
    let second = pairs.iter().map(|pair| pair.1);
    longest_rise(second.clone()).max(longest_rise(second.rev()))
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

/// The combinations of two positive numbers that vary.
pub(super) fn combined(columns: &[Column], by: Binary) -> Vec<Column> {
    let numbers = most_varied(columns, Column::is_positive);
    let with = |at: usize| numbers[at + 1..].iter().map(move |other| (at, other));
    let pairs = (0..numbers.len()).flat_map(with).map(|(at, other)| numbers[at].combined(other, by));
    pairs.filter(|column| column.distinct > 1).collect()
}

/// The columns of one kind with the most values.
pub(super) fn most_varied(columns: &[Column], is_kept: impl Fn(&Column) -> bool) -> Vec<&Column> {
    let mut kept: Vec<&Column> = columns.iter().filter(|column| is_kept(column)).collect();
    kept.sort_by_key(|column| Reverse(column.distinct));
    kept.truncate(MOST_COMBINED);
    kept
}
