//! The numbers of the inputs: their features, a category as a number for each of its values.

use ah_model::{Scalar, Value};

/// Most categories of a feature that get a column each.
const MAX_CATEGORIES: usize = 16;

/// The inputs' numbers, by feature. A category is a feature of its own.
pub fn numbers(inputs: &[&[Value]]) -> Vec<Vec<f64>> {
    let width = inputs.first().map_or(0, |values| values.len());
    let mut numbers = Vec::new();
    for slot in 0..width {
        let scalars = || inputs.iter().map(|values| values[slot].as_scalar());
        if scalars().all(|scalar| scalar.number().is_some()) {
            // A missing number is a value of its own, below most others.
            let number = |scalar: Scalar<'_>| scalar.number().filter(|x| x.is_finite()).unwrap_or(-1.0);
            numbers.push(scalars().map(number).collect());
            continue;
        }
        let mut names: Vec<&str> = scalars().filter_map(Scalar::category).collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().take(MAX_CATEGORIES) {
            let is = |category: Option<&str>| f64::from(u8::from(category == Some(name)));
            numbers.push(scalars().map(|scalar| is(scalar.category())).collect());
        }
    }
    numbers
}
