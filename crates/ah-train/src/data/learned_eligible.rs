//! Conditions under which a choice can run, learned from where it has times.
//!
//! A log may lack a choice on a part of its inputs without saying why: insertion sort above 2048 numbers. A leaf reaches
//! beyond its training inputs, so it once took insertion sort for 3,862 numbers, where it was 36 times slower than the best.

use std::collections::BTreeMap;

use ah_types::expr::{self, BinaryOp, Comparison, Expr};
use ah_types::{ChoiceId, FeatureKind, Precondition, Schema, Value};

use super::table::Table;

/// Fewer inputs without a time may be at one end of a feature by chance: of 600 inputs, 3 are with a probability of 1e-7.
const LEAST: usize = 3;

/// Returns a condition for each of the choices that `declared` lacks, whose inputs with a time are separated from those without
/// one by a threshold or a category of a logged feature. Inputs of an adaptive log outside of its random part may lack a time
/// because the choice was expected to be slow, so only the others count as inputs without a time.
pub fn learn(
    table: &Table,
    inputs: &[u32],
    schema: &Schema,
    declared: &BTreeMap<ChoiceId, Precondition>,
) -> BTreeMap<ChoiceId, Precondition> {
    let mut timed: Vec<Vec<u32>> = vec![Vec::new(); table.choices.len()];
    for &input in inputs {
        let cells = table.cells(input).iter().filter(|cell| cell.time.is_finite());
        cells.for_each(|cell| timed[cell.choice.index()].push(input));
    }
    let condition = |(choice, timed): (ChoiceId, &Vec<u32>)| {
        let is_partial = timed.len() >= LEAST && timed.len() + LEAST <= inputs.len();
        if !is_partial || table.is_rare(choice) || declared.contains_key(&choice) {
            return None;
        }
        let without = inputs.iter().copied().filter(|input| {
            !table.inputs[*input as usize].never_held_out && timed.binary_search(input).is_err()
        });
        let without: Vec<u32> = without.collect();
        if without.len() < LEAST {
            return None;
        }
        let separates = |slot: usize| separate(table, schema, slot, timed, &without);
        let expression = (0..schema.len()).find_map(separates)?;
        let expression = expression.to_string();
        let typed = expr::parse(&expression).ok()?.resolve_bool(schema).ok()?;
        Some((choice, Precondition { expression, typed }))
    };
    (0_u32..).map(ChoiceId).zip(&timed).filter_map(condition).collect()
}

/// Returns the condition on this feature that holds on all of the inputs `timed` and on none of `without`.
fn separate(table: &Table, schema: &Schema, slot: usize, timed: &[u32], without: &[u32]) -> Option<Expr> {
    let feature = &schema.features()[slot];
    let compare = |comparison, other: Expr| {
        let own = Expr::Feature(feature.name.clone());
        Some(Expr::Binary(BinaryOp::Compare(comparison), Box::new(own), Box::new(other)))
    };
    let values = |inputs: &[u32]| {
        let value = |&input: &u32| &table.inputs[input as usize].values[slot];
        inputs.iter().map(value).collect::<Vec<&Value>>()
    };
    let (timed, without) = (values(timed), values(without));
    if feature.kind == FeatureKind::Categorical {
        let first = |values: &[&Value]| values[0].as_scalar().category().map(str::to_owned);
        let is_one = |values: &[&Value], other: &[&Value]| {
            values.iter().all(|value| *value == values[0]) && !other.contains(&values[0])
        };
        return match (is_one(&timed, &without), is_one(&without, &timed)) {
            (true, _) => compare(Comparison::Eq, Expr::Text(first(&timed)?)),
            (_, true) => compare(Comparison::Ne, Expr::Text(first(&without)?)),
            _ => None,
        };
    }
    let range = |values: &[&Value]| {
        let numbers = values.iter().filter_map(|value| value.as_scalar().number());
        let missing = values.iter().any(|value| value.as_scalar().number().is_none_or(f64::is_nan));
        let (least, greatest) =
            (numbers.clone().fold(f64::INFINITY, f64::min), numbers.fold(f64::NEG_INFINITY, f64::max));
        (missing, least, greatest)
    };
    let ((false, least, greatest), (_, without_least, without_greatest)) = (range(&timed), range(&without))
    else {
        // A condition on a missing value is undefined, so the choice could not run there.
        return None;
    };
    if greatest < without_least {
        let below = power_of_two(greatest).filter(|power| *power < without_least);
        return compare(Comparison::Le, Expr::Number(below.unwrap_or(greatest)));
    }
    if without_greatest < least {
        let above = power_of_two(least).map(|power| if power > least { power / 2.0 } else { power });
        return compare(
            Comparison::Ge,
            Expr::Number(above.filter(|power| *power > without_greatest).unwrap_or(least)),
        );
    }
    None
}

/// Returns the least power of two that is not below this number: programs often have their limits there.
fn power_of_two(x: f64) -> Option<f64> {
    (x >= 1.0 && x <= 2_f64.powi(52)).then(|| x.log2().ceil().exp2())
}
