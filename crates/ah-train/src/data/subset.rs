//! The rows of one fit.

use linfa::dataset::Records;

use super::columns::Columns;

/// Some inputs of the columns. linfa calls them records.
#[derive(Clone, Copy, Debug)]
pub struct Subset<'a> {
    /// The features of all inputs.
    pub columns: &'a Columns,
    /// The inputs to learn from, ascending.
    pub inputs: &'a [u32],
}

impl Records for Subset<'_> {
    type Elem = u16;

    fn nsamples(&self) -> usize {
        self.inputs.len()
    }

    fn nfeatures(&self) -> usize {
        self.columns.all().len()
    }
}
