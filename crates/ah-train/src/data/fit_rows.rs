//! The rows of one fit.

use super::columns::Columns;

/// Some inputs of the columns.
#[derive(Clone, Copy, Debug)]
pub struct FitRows<'a> {
    /// The features of all inputs.
    pub columns: &'a Columns,
    /// The inputs to learn from, ascending.
    pub inputs: &'a [u32],
}
