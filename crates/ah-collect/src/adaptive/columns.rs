//! The features of an input as numbers that a forest can split on.

use std::collections::HashMap;

use ah_types::Value;
use ah_types::expr::ctz;

/// Sums and differences of this many features are tried at most.
const MOST_PAIRED: usize = 8;

/// The columns of a missing number: below those of all numbers, whose logarithms are from -1024 to 1024.
const MISSING: f64 = -4096.0;

/// Turns values into numbers: for a number its logarithm and its trailing zero bits, for a category a code.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoder {
    codes: HashMap<(usize, String), usize>,
    numerical: Vec<usize>,
}

impl Encoder {
    /// Returns the columns of these values. Their number and meaning is the same for all inputs.
    pub(super) fn encode(&mut self, values: &[Value]) -> Vec<f64> {
        let mut columns = Vec::with_capacity(2 * values.len());
        self.numerical.clear();
        for (slot, value) in values.iter().enumerate() {
            match value {
                Value::Number(x) if x.is_nan() => {
                    self.numerical.push(columns.len());
                    columns.extend([MISSING, MISSING]);
                }
                Value::Number(x) => {
                    self.numerical.push(columns.len());
                    columns.push(x.signum() * (1.0 + x.abs()).log2());
                    columns.push(trailing_zeros(*x));
                }
                category => {
                    let next = self.codes.len();
                    let code = *self.codes.entry((slot, category.to_string())).or_insert(next);
                    #[allow(clippy::cast_precision_loss)]
                    columns.push(code as f64);
                }
            }
        }
        columns
    }
}

/// Returns the trailing zero bits of a whole number, at most 7: alignment decides which kernels are fast.
fn trailing_zeros(x: f64) -> f64 {
    if x == 0.0 || x.abs() > 1e15 {
        return 0.0;
    }
    ctz(x).map_or(0.0, |bits| bits.min(7.0))
}

/// A column to split on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    Single(usize),
    /// The logarithm of a product.
    Sum(usize, usize),
    /// The logarithm of a ratio.
    Difference(usize, usize),
}

impl Column {
    pub(super) fn of(self, encoded: &[f64]) -> f64 {
        match self {
            Self::Single(i) => encoded[i],
            Self::Sum(i, j) => encoded[i] + encoded[j],
            Self::Difference(i, j) => encoded[i] - encoded[j],
        }
    }

    /// Returns the columns that differ between these inputs, and the sums and differences of the first few
    /// logarithms. Copies of a column are left out: published logs have each stride beside its dimension.
    pub(super) fn all(encoder: &Encoder, inputs: &[&[f64]]) -> Vec<Self> {
        let width = inputs.first().map_or(0, |input| input.len());
        let differs = |i: usize| inputs.iter().any(|input| input[i] != inputs[0][i]);
        let same = |i: usize, j: usize| inputs.iter().all(|input| input[i] == input[j]);
        let mut kept: Vec<usize> = Vec::new();
        for i in (0..width).filter(|&i| differs(i)) {
            if !kept.iter().any(|&j| same(i, j)) {
                kept.push(i);
            }
        }
        let paired: Vec<usize> =
            kept.iter().copied().filter(|i| encoder.numerical.contains(i)).take(MOST_PAIRED).collect();
        let pairs = paired.iter().enumerate().flat_map(|(n, &i)| paired[..n].iter().map(move |&j| (i, j)));
        let pairs = pairs.flat_map(|(i, j)| [Self::Sum(i, j), Self::Difference(i, j)]);
        kept.iter().map(|&i| Self::Single(i)).chain(pairs).collect()
    }
}
