//! Orders of the categories of a feature, so that a threshold on an order is a split into two sets.
//!
//! With one output, the best two sets are the two sides of a cut of the categories in the order of their means (Fisher, "On
//! grouping for maximum homogeneity", 1958): one pass instead of 2^categories. With several choices, a category's mean is a vector.
//! The orders are then the categories' positions along the directions in which these vectors differ most (their principal
//! directions). One direction can confuse two groups of categories that another distinguishes.

use super::costs::Costs;

/// The most directions.
const DIRECTIONS: usize = 3;
/// With fewer categories, every set is one category or all but one: columns of single categories are enough.
const LEAST_CATEGORIES: usize = 4;
/// A category's mean is drawn towards that of all inputs as by this many further inputs, so rare categories do not
/// come first or last by chance.
const SHRINKAGE: f64 = 3.0;
/// The whole number that stands for a target of 1: sums of whole numbers do not depend on the order of the inputs.
const TARGET_ONE: f64 = (1 << 20) as f64;
/// Steps of the power iteration. Directions between two that differ equally much are as good as either.
const STEPS: usize = 50;
/// A direction with a smaller share of the differences is noise.
const LEAST_SHARE: f64 = 0.02;

/// Orders of these categories, which are in the order of their names: by category its position, one of at most `most`.
/// `category_of` returns the category of an input as a number below `categories`.
pub(super) fn orders(
    categories: usize,
    inputs: &[u32],
    category_of: impl Fn(u32) -> usize,
    costs: &Costs,
    most: usize,
) -> Vec<Vec<u16>> {
    if categories < LEAST_CATEGORIES {
        return Vec::new();
    }
    let mut differences = differences(categories, inputs, category_of, costs);
    let length = |differences: &[Vec<f64>]| differences.iter().map(|d| dot(d, d)).sum::<f64>();
    let whole = length(&differences);
    let mut orders = Vec::new();
    while orders.len() < DIRECTIONS && length(&differences) > LEAST_SHARE * whole {
        let Some(direction) = main_direction(&differences) else { break };
        let places: Vec<f64> = differences.iter().map(|d| dot(d, &direction)).collect();
        for (difference, place) in differences.iter_mut().zip(&places) {
            difference.iter_mut().zip(&direction).for_each(|(x, along)| *x -= place * along);
        }
        orders.push(places);
    }
    orders.iter().map(|places| positions(places, most)).collect()
}

/// The difference, by category, of its mean targets from those of all inputs.
fn differences(
    categories: usize,
    inputs: &[u32],
    category_of: impl Fn(u32) -> usize,
    costs: &Costs,
) -> Vec<Vec<f64>> {
    let choices = costs.choices;
    let mut sums = vec![0_u64; categories * choices];
    let mut counts = vec![0_u64; categories];
    for &input in inputs {
        let category = category_of(input);
        let weight = u64::from(costs.weight(input));
        counts[category] += weight;
        for cost in costs.of(input) {
            let target = (cost.soft_target() * TARGET_ONE).round() as u64;
            sums[category * choices + cost.choice.index()] += weight * target;
        }
    }
    let total: u64 = counts.iter().sum();
    let mean = |choice: usize| {
        let sum: u64 = sums.iter().skip(choice).step_by(choices).sum();
        sum as f64 / total.max(1) as f64
    };
    let means: Vec<f64> = (0..choices).map(mean).collect();
    // The weights of the inputs are relative.
    let unit = total as f64 / inputs.len().max(1) as f64;
    let difference = |(sums, &count): (&[u64], &u64)| {
        let shrunk = count as f64 + SHRINKAGE * unit;
        let part = |(&sum, mean): (&u64, &f64)| (sum as f64 - count as f64 * mean) / shrunk / TARGET_ONE;
        sums.iter().zip(&means).map(part).collect()
    };
    sums.chunks_exact(choices.max(1)).zip(&counts).map(difference).collect()
}

/// The direction of length 1 in which these vectors differ most, by power iteration; `None` if they are all 0.
fn main_direction(vectors: &[Vec<f64>]) -> Option<Vec<f64>> {
    let longest = vectors.iter().reduce(|a, b| if dot(b, b) > dot(a, a) { b } else { a })?;
    let mut direction = of_length_1(longest.clone())?;
    for _ in 0..STEPS {
        let mut next = vec![0.0; direction.len()];
        for vector in vectors {
            let place = dot(vector, &direction);
            next.iter_mut().zip(vector).for_each(|(x, part)| *x += place * part);
        }
        direction = of_length_1(next)?;
    }
    Some(direction)
}

fn of_length_1(mut vector: Vec<f64>) -> Option<Vec<f64>> {
    let length = dot(&vector, &vector).sqrt();
    vector.iter_mut().for_each(|x| *x /= length);
    (length > 0.0).then_some(vector)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The position of each category in the order of these places; of equals, the first name comes first. If there are more
/// categories than positions, neighbours share one.
fn positions(places: &[f64], most: usize) -> Vec<u16> {
    let mut sorted: Vec<usize> = (0..places.len()).collect();
    sorted.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
    let shared = places.len().div_ceil(most);
    let mut positions = vec![0; places.len()];
    for (position, category) in sorted.into_iter().enumerate() {
        positions[category] = (position / shared) as u16;
    }
    positions
}
