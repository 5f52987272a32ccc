//! The range of the inputs that a tree was learned from, as a condition.
//!
//! A tree answers everywhere with equal confidence. On kernels of matrix products in a Rust engine, learned at or below the median
//! size, a tree lost 270 % above it on one processor: a threshold that was never crossed says nothing about larger inputs.

use std::collections::BTreeSet;

use ah_model::expr::{Comparison, Expr};
use ah_model::{Precondition, Row, Schema};

use super::domain::{all_hold, compare};
use super::table::Table;
use super::threshold::rounded;

/// A number is outside where it is more than this many times beyond the range, and beyond by more than the range of the tenth of
/// the inputs at that end.
///
/// Where sizes have a long tail, such as those of sparse matrices, two of 91 further ones were more than twice as large as all of
/// 409. If the tail falls as a power, a further one of `n` is outside with a probability of `10 / n^2`.
const BEYOND: f64 = 2.0;

/// A tail that is longer than this has no end that the log knows.
const LONG_TAIL: f64 = 16.0;

/// The condition that `declared` holds and that these features are not outside the range of these inputs. Features that
/// are missing on some inputs have no range.
pub fn within(
    table: &Table,
    inputs: &[u32],
    schema: &Schema,
    slots: &BTreeSet<usize>,
    declared: Option<&Precondition>,
) -> Option<Precondition> {
    let declared = declared.and_then(|condition| ah_model::expr::parse(&condition.expression).ok());
    let bounds = slots.iter().flat_map(|&slot| bounds(table, inputs, schema, slot));
    all_hold(declared.into_iter().chain(bounds), schema)
}

fn bounds(table: &Table, inputs: &[u32], schema: &Schema, slot: usize) -> Vec<Expr<String>> {
    let feature = &schema.features()[slot];
    let mut numbers: Vec<f64> = inputs.iter().map(|&input| table.values(input).number(slot)).collect();
    if numbers.is_empty() || numbers.iter().any(|x| x.is_nan()) {
        return Vec::new();
    }
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len() - 1;
    let tenth = numbers.len() / 10;
    let whole = |bound: f64| if feature.integer { bound.floor() } else { bound };
    let least = bound(-numbers[0], -numbers[tenth]).map(|least| -whole(least));
    let greatest = bound(numbers[last], numbers[last - tenth]).map(whole);
    // No size is below 1, and no share below 0: a program does not ask about them.
    let least = least.filter(|least| !(0.0..=if feature.integer { 1.0 } else { 0.0 }).contains(least));
    let bounds = [(Comparison::Ge, least), (Comparison::Le, greatest)];
    let compared =
        |(comparison, bound): (_, Option<f64>)| Some(compare(feature, comparison, Expr::Number(bound?)));
    bounds.into_iter().filter_map(compared).collect()
}

/// The greatest number that is not outside, of two digits, where `greatest` and the number that a tenth of the inputs exceed
/// are known. `None`: none is outside.
fn bound(greatest: f64, tenth: f64) -> Option<f64> {
    let ratio = if greatest > 0.0 { greatest / tenth } else { tenth / greatest };
    let times = if ratio.is_finite() { ratio.max(BEYOND) } else { BEYOND };
    let exact = if greatest > 0.0 { greatest * times } else { greatest / times };
    (times <= LONG_TAIL && exact.is_finite()).then(|| rounded(exact, 2))
}
