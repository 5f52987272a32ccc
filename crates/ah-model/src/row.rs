//! Rows: values by slot, as expressions and trees read them.

use crate::context::{Scalar, Value};

/// Anything that has a value in each slot of a schema.
pub trait Row {
    /// The number in this slot; NaN if it is undefined or no number.
    fn number(&self, slot: usize) -> f64;

    /// The category in this slot, of a truth value `True` or `False`; `None` if it is undefined or a number.
    fn category(&self, slot: usize) -> Option<&str>;
}

impl Row for [Value] {
    fn number(&self, slot: usize) -> f64 {
        self.get(slot).and_then(|value| value.as_scalar().number()).unwrap_or(f64::NAN)
    }

    fn category(&self, slot: usize) -> Option<&str> {
        self.get(slot)?.as_scalar().category()
    }
}

impl Row for [Scalar<'_>] {
    #[inline]
    fn number(&self, slot: usize) -> f64 {
        if let Some(Scalar::Number(x)) = self.get(slot) { *x } else { f64::NAN }
    }

    #[inline]
    fn category(&self, slot: usize) -> Option<&str> {
        self.get(slot)?.category()
    }
}
