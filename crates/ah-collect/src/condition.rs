//! Conditions over the features of an input that a choice must meet.

use ah_measure::Failure;
use ah_types::{Precondition, Value};

/// Returns why a choice with this condition cannot run in a row, if it cannot. An undefined condition counts as false.
pub(crate) fn refusal(condition: &Precondition, row: &[Value]) -> Option<Failure> {
    let refused = || Failure::skipped(format!("not eligible: {}", condition.expression));
    (!condition.holds(row)).then(refused)
}
