//! The rows of one fit, shared by all its nodes and threads.

use rayon::prelude::*;

use super::lanes::Processor;
use super::parameters::CostTree;
use super::samples::Samples;
use crate::data::{Column, Costs, Subset};

/// The rows of one fit, with its parameters.
pub(super) struct FitData<'a> {
    pub parameters: &'a CostTree,
    pub columns: Vec<&'a Column>,
    pub samples: Samples,
    pub processor: Processor,
    /// Number of rows.
    pub rows: usize,
    /// Most leaves of the tree; `usize::MAX`: as many as depth and inputs allow.
    pub most_leaves: usize,
    /// The codes of all rows, row by row: a row's codes are read together, rows far apart.
    codes: Vec<u16>,
}

impl<'a> FitData<'a> {
    pub(super) fn new(parameters: &'a CostTree, rows: &Subset<'a>, targets: &Costs) -> Self {
        let samples = Samples::new(parameters, targets, rows.inputs);
        Self::with_samples(parameters, rows.columns.all().iter().collect(), rows.inputs, samples, usize::MAX)
    }

    pub(super) fn with_samples(
        parameters: &'a CostTree,
        columns: Vec<&'a Column>,
        inputs: &[u32],
        samples: Samples,
        most_leaves: usize,
    ) -> Self {
        let mut codes = vec![0; inputs.len() * columns.len()];
        // 512 rows at a time stay in the cache.
        let parts = codes.par_chunks_mut((columns.len() * 512).max(1)).zip(inputs.par_chunks(512));
        parts.for_each(|(codes, inputs)| {
            for (at, column) in columns.iter().enumerate() {
                for (codes, &input) in codes.chunks_exact_mut(columns.len()).zip(inputs) {
                    codes[at] = column.codes()[input as usize];
                }
            }
        });
        let (processor, rows) = (Processor::detect(), inputs.len());
        Self { parameters, columns, samples, processor, rows, most_leaves, codes }
    }

    /// Returns the codes of a row, by column.
    #[inline(always)]
    pub(super) fn codes(&self, row: u32) -> &[u16] {
        &self.codes[row as usize * self.columns.len()..][..self.columns.len()]
    }
}
