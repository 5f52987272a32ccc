//! Crossovers: inputs that were never measured. Each has the features of one input, some of them replaced by those
//! of a similar one, so it lies where inputs could lie.

use ah_types::Features;
use rayon::prelude::*;

use super::columns::Columns;
use super::random;
use super::values::FeatureValues;

/// The share of the features that come from the second input.
const SHARE: f64 = 0.3;
/// Crossovers that a thread makes at a time: their values take four times the memory of their codes.
const CHUNK: usize = 16_384;

/// What crossovers are made of.
#[derive(Clone, Copy)]
pub struct Crossing<'a> {
    /// The values of all inputs.
    pub values: &'a FeatureValues,
    /// Logged and derived features.
    pub features: &'a Features,
}

impl Crossing<'_> {
    /// Returns the columns with the crossovers of these pairs behind the inputs, and the rows of the crossovers, each
    /// with its first input. Rows with an undefined feature are not among them.
    pub fn cross(&self, columns: &Columns, pairs: &[(u32, u32)]) -> (Columns, Vec<(u32, u32)>) {
        let cross = |(chunk, pairs): (usize, &[(u32, u32)])| {
            let seed = |at: usize| random::mix(chunk as u64, at as u64);
            let is_second = |at: usize, slot: usize| random::fraction(seed(at), slot as u64) < SHARE;
            let values = self.values.crossed(self.features, pairs, is_second);
            (columns.codes_of(&values), values.undefined)
        };
        let crossed: Vec<_> = pairs.par_chunks(CHUNK).enumerate().map(cross).collect();
        let (mut columns, mut rows) = (columns.clone(), Vec::with_capacity(pairs.len()));
        for ((codes, undefined), pairs) in crossed.into_iter().zip(pairs.chunks(CHUNK)) {
            let is_defined = |row: u32| undefined.binary_search_by_key(&row, |u| u.0).is_err();
            let first = columns.rows() as u32;
            let defined = (0_u32..).zip(pairs).filter(|(row, _)| is_defined(*row));
            rows.extend(defined.map(|(row, pair)| (first + row, pair.0)));
            columns.extend(&codes, pairs.len());
        }
        (columns, rows)
    }
}
