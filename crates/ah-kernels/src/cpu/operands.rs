//! Random numbers for operands, and the check of a product.

use ah_types::Context;
use rand::Rng as _;

use super::kernels::MatRef;
use crate::features;
use ah_measure::Failure;
use ah_measure::sampling::Rng;

/// The largest size.
pub(super) const LARGEST: u32 = 1 << 30;
/// Most elements of an operand: 4 GiB.
const MAX_ELEMENTS: usize = 1 << 30;

/// Returns the number of elements of a `rows × cols` array.
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

/// A check of a product that does not compute it: A·(B·x) for a vector x of random signs, in f64.
///
/// C·x is compared with it row by row. That finds a wrong element of C whose error exceeds the rounding of
/// its row (Freivalds, *Probabilistic machines can use less running time*, 1977), in O(m·k + k·n) instead
/// of O(m·k·n) operations: at 1024³ about 2 ms instead of 600 ms.
#[derive(Debug)]
pub(super) struct Projection {
    signs: Vec<f64>,
    expected: Vec<f64>,
    /// Largest error of a row that rounding explains.
    tolerance: f64,
}

impl Projection {
    pub(super) fn new(a: MatRef, b: MatRef, rng: &mut Rng) -> Self {
        let signs: Vec<f64> = (0..b.cols()).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect();
        let times = |m: MatRef, x: &[f64], of: fn(f64) -> f64| -> Vec<f64> {
            (0..m.rows())
                .map(|i| x.iter().enumerate().map(|(j, x)| of(f64::from(m.at(i, j))) * x).sum())
                .collect()
        };
        let expected = times(a, &times(b, &signs, |x| x), |x| x);
        // The size of a row's sum if its terms did not cancel. `expected` itself may cancel: with k = 1 all
        // its elements are multiples of one sum, which can be as small as its rounding.
        let squares = times(a, &times(b, &vec![1.0; b.cols()], |x| x * x), |x| x * x);
        let size = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
        // Summed one by one, k terms carry a rounding error of about ε√k/2 of that; 16 times as much leaves
        // room for the tail over all rows.
        let tolerance = 1e-6 * (a.cols() as f64).sqrt().max(1.0) * size.max(f64::MIN_POSITIVE);
        Self { signs, expected, tolerance }
    }

    /// Checks a row-major product.
    pub(super) fn check(&self, c: &[f32]) -> Result<(), Failure> {
        for (i, (row, expected)) in c.chunks_exact(self.signs.len()).zip(&self.expected).enumerate() {
            let found: f64 = row.iter().zip(&self.signs).map(|(c, x)| f64::from(*c) * x).sum();
            let error = (found - expected).abs();
            if error > self.tolerance || error.is_nan() {
                return Err(Failure::failed(format!(
                    "wrong result: row {i} is off by {error:.2e} (at most {:.2e} expected)",
                    self.tolerance
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernels::reference;
    use ah_measure::sampling;

    #[test]
    fn right_products_pass_and_one_wrong_element_does_not() {
        let shapes = [(1, 1, 1), (3, 700, 5), (40, 17, 300), (65, 512, 129), (9, 1, 2), (1163, 1, 6)];
        // Many draws, because the signs of some let a row's terms cancel.
        for (draw, (m, k, n)) in (0..40).flat_map(|draw| shapes.map(|shape| (draw, shape))) {
            let mut rng = sampling::Seed(draw, (m * n) as u64).rng();
            let [a, b] = [(m, k), (k, n)].map(|(rows, cols)| random(rows, cols, 1.0, &mut rng).unwrap());
            let (a, b) = (MatRef::new(&a, m, k, (1, m)).unwrap(), MatRef::row_major(&b, k, n).unwrap());
            let projection = Projection::new(a, b, &mut rng);
            let c: Vec<f32> = reference::product(a, b).into_iter().map(|x| x as f32).collect();
            projection.check(&c).unwrap_or_else(|e| panic!("draw {draw}, {m}×{k}×{n}: {e}"));
            // As if one product of two elements were missing from one sum.
            for at in [0, c.len() / 2, c.len() - 1] {
                let term = a.at(at / n, k - 1) * b.at(k - 1, at % n);
                if f64::from(term.abs()) < 2.0 * projection.tolerance {
                    continue;
                }
                let mut wrong = c.clone();
                wrong[at] -= term;
                assert!(projection.check(&wrong).is_err(), "draw {draw}, {m}×{k}×{n} at {at}");
                wrong[at] = f32::NAN;
                assert!(projection.check(&wrong).is_err());
            }
        }
    }

    #[test]
    fn operands_that_fit_no_memory_are_skipped() {
        for (rows, cols) in [(1 << 20, 1 << 20), (1_000_000_000, 1_000_000_000), (usize::MAX, 2)] {
            let failure = elements(rows, cols).unwrap_err();
            assert!(matches!(failure, Failure::Skipped(_)), "{failure}");
        }
    }
}
