//! The values of all features, logged and derived, on all inputs.

use std::sync::Arc;

use ah_model::{DerivedFeature, Feature, FeatureKind, Features, Value, expr};
use indexmap::IndexSet;

use super::table::Table;

/// The values of all features on all inputs.
#[derive(Clone)]
pub struct FeatureValues {
    pub by_slot: Vec<Values>,
    /// Inputs with an undefined category, ascending: (input, slot of the first such feature). An undefined number is missing.
    pub undefined: Vec<(u32, usize)>,
}

impl FeatureValues {
    /// Computes every feature of every input.
    pub fn new(table: &Table, features: &Features) -> Self {
        let none = |feature: &Feature| match feature.kind {
            FeatureKind::Numerical => Values::Numbers(Vec::new()),
            FeatureKind::Categorical => Values::Categories(Vec::new(), IndexSet::new()),
        };
        let mut by_slot: Vec<Values> = features.all().features().iter().map(none).collect();
        let mut undefined = Vec::new();
        for (at, input) in (0..).zip(&table.inputs) {
            let mut row = input.values.to_vec();
            for (_, derived) in features.derived() {
                // A truth value or a category is no number, and a number is none of these.
                let category = derived.category(&row[..]).map(Value::from);
                row.push(category.unwrap_or_else(|| Value::Number(derived.number(&row[..]))));
            }
            for (values, value) in by_slot.iter_mut().zip(&row) {
                match (values, value) {
                    (Values::Numbers(numbers), value) => {
                        numbers.push(value.as_scalar().number().unwrap_or(f64::NAN));
                    }
                    (Values::Categories(ids, names), Value::Category(name)) => {
                        ids.push(names.insert_full(name.clone()).0 as u32);
                    }
                    (Values::Categories(ids, _), Value::Number(_)) => ids.push(UNDEFINED),
                }
            }
            let is_undefined =
                |values: &Values| matches!(values, Values::Categories(ids, _) if ids.ends_with(&[UNDEFINED]));
            undefined.extend(by_slot.iter().position(is_undefined).map(|slot| (at, slot)));
        }
        Self { by_slot, undefined }
    }

    /// The inputs, of these, on which all of these features are defined.
    pub fn complete(&self, inputs: &[u32], features: &Features) -> Vec<u32> {
        let values = &self.by_slot[..features.all().len()];
        let is_complete = |input: &u32| !values.iter().any(|values| values.is_undefined(*input as usize));
        inputs.iter().copied().filter(is_complete).collect()
    }
}

/// The values of one feature on all inputs.
#[derive(Clone)]
pub enum Values {
    /// NaN if undefined.
    Numbers(Vec<f64>),
    /// Positions in the list of names; `UNDEFINED` where undefined.
    Categories(Vec<u32>, IndexSet<Arc<str>>),
}

const UNDEFINED: u32 = u32::MAX;

impl Values {
    /// Whether it is defined on all of these inputs.
    pub fn is_defined(&self, inputs: &[u32]) -> bool {
        !inputs.iter().any(|&input| self.is_undefined(input as usize))
    }

    fn is_undefined(&self, input: usize) -> bool {
        match self {
            Self::Numbers(x) => x[input].is_nan(),
            Self::Categories(ids, _) => ids[input] == UNDEFINED,
        }
    }
}

/// The features with a number in the place of each derived truth value that is undefined on an input, and their values: a
/// number can be missing, a truth value cannot, so it becomes 1 or 0. They stay as they are if another derived feature uses such a truth value.
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
