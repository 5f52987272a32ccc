//! Operations on logged whole numbers that code can compute in integers.

use ah_types::Model;
use ah_types::expr::{Arithmetic, NumberExpr, NumberFunction};

use super::features::is_whole;

/// An operation on a logged whole number that integers compute with the same result. With `fmod`, or
/// through a float, it takes several times as long.
pub struct WholeOperation {
    /// The feature's slot.
    pub slot: usize,
    /// `low_bits` is the remainder by a power of two, `ceil_shifted` and `floor_shifted` are the rounded
    /// quotient; `trailing_zeros` needs no power.
    pub name: &'static str,
    /// The exponent of the power of two.
    pub power: Option<i32>,
}

/// Returns the operation in integers for this expression, if there is one.
pub(super) fn whole_operation(model: &Model, expr: &NumberExpr) -> Option<WholeOperation> {
    let (name, operand, power) = match expr {
        NumberExpr::Binary(Arithmetic::Rem, a, b) => ("low_bits", a, Some(power_of_two(b)?)),
        NumberExpr::Unary(NumberFunction::Ctz, a) => ("trailing_zeros", a, None),
        NumberExpr::Unary(NumberFunction::Ceil, quotient) => {
            let NumberExpr::Binary(Arithmetic::Div, a, b) = &**quotient else { return None };
            ("ceil_shifted", a, Some(power_of_two(b)?))
        }
        NumberExpr::Unary(NumberFunction::Floor, quotient) => {
            let NumberExpr::Binary(Arithmetic::Div, a, b) = &**quotient else { return None };
            ("floor_shifted", a, Some(power_of_two(b)?))
        }
        _ => return None,
    };
    let NumberExpr::Feature(slot) = **operand else { return None };
    is_whole(model, slot).then_some(WholeOperation { slot, name, power })
}

/// Returns the exponent of a literal power of two up to 2^52; whole numbers divide exactly by these.
fn power_of_two(expr: &NumberExpr) -> Option<i32> {
    let NumberExpr::Literal(x) = expr else { return None };
    (0..=52).find(|&power| 2.0_f64.powi(power).to_bits() == x.to_bits())
}
