//! Random numbers for operands, and their sizes.

use ah_model::Context;
use rand::Rng as _;

use crate::features;
use ah_measure::Failure;
use ah_measure::sampling::Rng;

/// The largest size.
pub(super) const LARGEST: u32 = 1 << 30;
/// Most elements of an operand: 4 GiB.
const MAX_ELEMENTS: usize = 1 << 30;

/// The number of elements of a `rows × cols` array.
pub(super) fn elements(rows: usize, cols: usize) -> Result<usize, Failure> {
    let count = rows.checked_mul(cols).filter(|n| *n <= MAX_ELEMENTS);
    count
        .ok_or_else(|| Failure::skipped(format!("{rows}×{cols} elements exceed the limit of {MAX_ELEMENTS}")))
}

/// Draws the elements of a `rows × cols` array from −`most` to `most`.
pub(super) fn random(rows: usize, cols: usize, most: f32, rng: &mut Rng) -> Result<Vec<f32>, Failure> {
    Ok((0..elements(rows, cols)?).map(|_| rng.random_range(-most..most)).collect())
}

/// Reads a size.
pub(super) fn size(context: &Context, name: &str) -> Result<usize, String> {
    features::size(context, name, LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_that_fit_no_memory_are_skipped() {
        for (rows, cols) in [(1 << 20, 1 << 20), (1_000_000_000, 1_000_000_000), (usize::MAX, 2)] {
            let failure = elements(rows, cols).unwrap_err();
            assert!(matches!(failure, Failure::Skipped(_)), "{failure}");
        }
    }
}
