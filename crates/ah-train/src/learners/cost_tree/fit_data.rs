//! The rows of one fit, shared by all its nodes and threads.

use rayon::prelude::*;

use super::lanes::Processor;
use super::parameters::CostTree;
use super::samples::Samples;
use crate::data::{Column, Rows, Targets};

/// The rows of one fit, with its parameters.
pub(super) struct FitData<'a> {
    pub parameters: &'a CostTree,
    pub columns: &'a [Column],
    pub samples: Samples,
    pub processor: Processor,
    /// Number of rows.
    pub rows: usize,
    /// The codes of all rows, row by row: a row's codes are read together, rows far apart.
    codes: Vec<u16>,
}

impl<'a> FitData<'a> {
    pub(super) fn new(parameters: &'a CostTree, rows: &Rows<'a>, targets: &Targets) -> Self {
        Self::with_samples(parameters, rows, Samples::new(parameters, targets, rows.inputs))
    }

    pub(super) fn with_samples(parameters: &'a CostTree, rows: &Rows<'a>, samples: Samples) -> Self {
        let columns = rows.columns.all();
        let mut codes = vec![0; rows.inputs.len() * columns.len()];
        // 512 rows at a time stay in the cache.
        let parts = codes.par_chunks_mut((columns.len() * 512).max(1)).zip(rows.inputs.par_chunks(512));
        parts.for_each(|(codes, inputs)| {
            for (at, column) in columns.iter().enumerate() {
                for (codes, &input) in codes.chunks_exact_mut(columns.len()).zip(inputs) {
                    codes[at] = column.codes()[input as usize];
                }
            }
        });
        Self { parameters, columns, samples, processor: Processor::detect(), rows: rows.inputs.len(), codes }
    }

    /// Returns the codes of a row, by column.
    #[inline(always)]
    pub(super) fn codes(&self, row: u32) -> &[u16] {
        &self.codes[row as usize * self.columns.len()..][..self.columns.len()]
    }
}
