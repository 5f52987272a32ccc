//! Clusters: inputs that a chain of near inputs connects (single linkage).

use ah_model::hash::fnv1a;
use ah_model::{DEVICE_FEATURES, Scalar};
use ah_types::random::mix;

use crate::data::Dataset;

/// A number whose 95th percentile is more than this many times its 5th one is compared by its logarithm.
const WIDE: f64 = 8.0;

/// The numbers of the usable inputs, each in units of its range, and their categories.
#[derive(Clone)]
pub struct Scaled {
    /// By number that varies, its values.
    pub numbers: Vec<Vec<f64>>,
    /// A hash of the categories.
    categories: Vec<u64>,
}

impl Scaled {
    /// Returns the numbers of a dataset's usable inputs.
    pub fn new(dataset: &Dataset) -> Self {
        let schema = dataset.features.base().features();
        let mut numbers = vec![Vec::new(); schema.len()];
        let mut categories = vec![0; dataset.usable.len()];
        for (category, &input) in categories.iter_mut().zip(&dataset.usable) {
            for (slot, value) in dataset.table.inputs[input as usize].values.iter().enumerate() {
                match value.as_scalar() {
                    _ if DEVICE_FEATURES.contains(&&*schema[slot].name) => {}
                    Scalar::Number(x) if x.is_finite() => numbers[slot].push(x),
                    Scalar::Number(_) => numbers[slot].push(0.0),
                    Scalar::Bool(truth) => *category = mix(*category, u64::from(truth)),
                    Scalar::Category(name) => *category = mix(*category, fnv1a(name)),
                }
            }
        }
        let numbers = numbers.into_iter().filter_map(scaled).collect();
        Self { numbers, categories }
    }

    /// Returns the same without the number at this position.
    pub fn without(&self, position: Option<usize>) -> Self {
        let mut other = self.clone();
        if let Some(position) = position {
            other.numbers.remove(position);
        }
        other
    }

    /// Returns the same with the values of each number, and the categories, in an order of their own.
    pub fn shuffled(&self) -> Self {
        let order = |seed: usize| {
            let mut order: Vec<usize> = (0..self.categories.len()).collect();
            order.sort_by_key(|&row| mix(seed as u64, row as u64));
            order
        };
        let number =
            |(at, values): (usize, &Vec<f64>)| order(at).into_iter().map(|row| values[row]).collect();
        Self {
            numbers: self.numbers.iter().enumerate().map(number).collect(),
            categories: order(usize::MAX).into_iter().map(|row| self.categories[row]).collect(),
        }
    }
}

/// Returns a number in units of its range from the 5th to the 95th percentile; `None` if it does not vary.
fn scaled(mut values: Vec<f64>) -> Option<Vec<f64>> {
    let range = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied();
        Some((at(0.05)?, at(0.95)?)).filter(|(low, high)| low < high)
    };
    let (low, high) = range(&values)?;
    if low > 0.0 && high > WIDE * low && values.iter().all(|x| *x > 0.0) {
        values.iter_mut().for_each(|x| *x = x.log2());
    }
    let (low, high) = range(&values)?;
    values.iter_mut().for_each(|x| *x /= high - low);
    Some(values)
}

/// Returns the cluster of each input: two are near where no number differs by more than `reach` and the categories are equal.
pub fn clusters(scaled: &Scaled, reach: f64) -> Vec<u64> {
    let Scaled { numbers, categories } = scaled;
    let mut order: Vec<usize> = (0..categories.len()).collect();
    let Some((first, rest)) = numbers.split_first() else { return categories.clone() };
    order.sort_by(|&a, &b| first[a].total_cmp(&first[b]));
    let mut parents: Vec<usize> = (0..order.len()).collect();
    for (at, &row) in order.iter().enumerate() {
        for &other in order[at + 1..].iter().take_while(|&&other| first[other] - first[row] <= reach) {
            let is_near = categories[row] == categories[other]
                && rest.iter().all(|values| (values[row] - values[other]).abs() <= reach);
            if is_near {
                let (a, b) = (root(&mut parents, row), root(&mut parents, other));
                parents[a.max(b)] = a.min(b);
            }
        }
    }
    (0..order.len()).map(|row| root(&mut parents, row) as u64).collect()
}

/// Returns the first input of a cluster, and shortens the way there.
fn root(parents: &mut [usize], mut row: usize) -> usize {
    while parents[row] != row {
        parents[row] = parents[parents[row]];
        row = parents[row];
    }
    row
}
