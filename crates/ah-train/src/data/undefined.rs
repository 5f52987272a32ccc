//! Derived truth values that are undefined on some inputs. A number can be missing, a truth value cannot, so such a truth
//! value becomes the number 1 or 0.

use ah_model::{DerivedFeature, Features, expr};

use super::table::Table;
use super::values::FeatureValues;

/// The features with a number in the place of each truth value that is undefined on an input, and their values. They
/// stay as they are if another derived feature uses such a truth value.
pub fn truth_as_numbers(table: &Table, features: Features) -> (Features, FeatureValues) {
    let values = FeatureValues::new(table, &features);
    if values.undefined.is_empty() {
        return (features, values);
    }
    let all: Vec<u32> = (0..table.inputs.len() as u32).collect();
    let logged = features.base().len();
    let number = |(at, (derived, typed)): (usize, &(DerivedFeature, expr::Expr))| {
        let is_truth = typed.ty() == expr::Type::Bool;
        if !is_truth || values.by_slot[logged + at].is_defined(&all) {
            return derived.clone();
        }
        let expression = format!("if {} then 1 else 0", derived.expression);
        DerivedFeature { expression, ..derived.clone() }
    };
    let derived: Vec<DerivedFeature> = features.derived().iter().enumerate().map(number).collect();
    let Ok(numbers) = Features::new(features.base().clone(), &derived) else { return (features, values) };
    let values = FeatureValues::new(table, &numbers);
    (numbers, values)
}
