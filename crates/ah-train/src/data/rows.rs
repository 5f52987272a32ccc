//! The rows of a fit: some inputs of the columns. linfa calls them records.

use linfa::dataset::Records;

use super::Columns;

/// The rows of a fit: some inputs of the columns. linfa calls them records.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The features of all inputs.
    pub columns: &'a Columns,
    /// The inputs to learn from, ascending.
    pub inputs: &'a [u32],
}

impl Records for Rows<'_> {
    type Elem = u16;

    fn nsamples(&self) -> usize {
        self.inputs.len()
    }

    fn nfeatures(&self) -> usize {
        self.columns.all().len()
    }
}
