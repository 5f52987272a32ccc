//! The values of all features, logged and derived, on all inputs.

use std::collections::BTreeMap;

use ah_model::{DerivedFeature, FeatureKind, Features, Row, Value, expr};
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
        let rows = table.inputs.len();
        let mut by_slot = Vec::new();
        for _ in 0..features.all().len() {
            by_slot.push(Values::new(table, features, &by_slot));
        }
        let mut undefined = BTreeMap::new();
        let categorical = |(_, values): &(usize, &Values)| matches!(values, Values::Categories(..));
        for (slot, values) in by_slot.iter().enumerate().filter(categorical) {
            for input in (0..rows).filter(|&i| values.is_undefined(i)) {
                undefined.entry(input as u32).or_insert(slot);
            }
        }
        Self { by_slot, undefined: undefined.into_iter().collect() }
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
    Categories(Vec<u32>, Vec<String>),
}

const UNDEFINED: u32 = u32::MAX;

impl Values {
    /// The values of the next feature: logged, or computed from the ones in `done`.
    fn new(table: &Table, features: &Features, done: &[Self]) -> Self {
        let slot = done.len();
        let derived = slot.checked_sub(features.base().len()).map(|i| &features.derived()[i].1);
        let logged = table.inputs.iter().map(|input| &*input.values);
        let rows = logged.enumerate().map(|(input, base)| ColumnRow { base, done, input });
        match features.all().features()[slot].kind {
            FeatureKind::Numerical => {
                let value = |row: ColumnRow<'_>| match derived {
                    None => row.number(slot),
                    Some(derived) => derived.number(&row),
                };
                Self::Numbers(rows.map(value).collect())
            }
            FeatureKind::Categorical => {
                let mut names: IndexSet<String> = IndexSet::new();
                let mut intern = |name: &str| {
                    let known = names.get_index_of(name);
                    known.unwrap_or_else(|| names.insert_full(name.to_owned()).0) as u32
                };
                let id = |row: ColumnRow<'_>| {
                    let name = derived.map_or_else(|| row.category(slot), |derived| derived.category(&row));
                    name.map_or(UNDEFINED, &mut intern)
                };
                let codes = rows.map(id).collect();
                Self::Categories(codes, names.into_iter().collect())
            }
        }
    }

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

/// A row of logged values and of the values in `done`, so that a derived feature of a derived feature is not computed
/// again.
struct ColumnRow<'a> {
    base: &'a [Value],
    done: &'a [Values],
    input: usize,
}

impl Row for ColumnRow<'_> {
    fn number(&self, slot: usize) -> f64 {
        match self.done.get(slot) {
            _ if slot < self.base.len() => self.base.number(slot),
            Some(Values::Numbers(x)) => x[self.input],
            _ => f64::NAN,
        }
    }

    fn category(&self, slot: usize) -> Option<&str> {
        match self.done.get(slot) {
            _ if slot < self.base.len() => self.base.category(slot),
            Some(Values::Categories(ids, names)) => names.get(ids[self.input] as usize).map(String::as_str),
            _ => None,
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
