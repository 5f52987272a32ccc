//! Rows: values by slot, as expressions and trees read them.

use crate::context::{Scalar, Value};

/// Anything that has a value in each slot of a schema.
pub trait Row {
    /// Returns the value in this slot, or `None` if it is undefined.
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>>;

    /// Returns the number in this slot; NaN if it is undefined or no number.
    fn number(&self, slot: usize) -> f64 {
        self.scalar(slot).and_then(Scalar::number).unwrap_or(f64::NAN)
    }

    /// Returns the category in this slot; `None` if it is undefined or a number.
    fn category(&self, slot: usize) -> Option<&str> {
        self.scalar(slot).and_then(Scalar::category)
    }
}

impl Row for [Value] {
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        self.get(slot).map(Value::as_scalar)
    }
}

impl Row for [Scalar<'_>] {
    #[inline]
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        self.get(slot).copied()
    }

    #[inline]
    fn number(&self, slot: usize) -> f64 {
        match self.get(slot) {
            Some(Scalar::Number(x)) => *x,
            _ => f64::NAN,
        }
    }
}

impl Row for Vec<Value> {
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        self.as_slice().scalar(slot)
    }
}
