//! Matrices of random numbers, and the check of a product against them.

use ah_types::Context;
use rand::Rng as _;

use super::kernels::MatRef;
use crate::layout::Layout;
use ah_measure::Failure;
use ah_measure::sampling::Rng;

/// A matrix and the memory under it.
#[derive(Debug)]
pub(super) struct Operand {
    data: Vec<f32>,
    rows: usize,
    cols: usize,
    strides: (usize, usize),
}

impl Operand {
    /// Numbers from −1 to 1.
    pub(super) fn random(rows: usize, cols: usize, strides: (usize, usize), rng: &mut Rng) -> Self {
        let mut operand = Self { data: Vec::new(), rows, cols, strides };
        let len =
            if rows == 0 || cols == 0 { 0 } else { (rows - 1) * strides.0 + (cols - 1) * strides.1 + 1 };
        operand.data = (0..len).map(|_| rng.random_range(-1.0..1.0)).collect();
        operand
    }

    /// Sets everything outside the first `rows × cols` elements to zero.
    pub(super) fn zero_outside(&mut self, rows: usize, cols: usize) {
        for i in 0..self.rows {
            for j in 0..self.cols {
                if i >= rows || j >= cols {
                    self.data[i * self.strides.0 + j * self.strides.1] = 0.0;
                }
            }
        }
    }

    pub(super) fn view(&self) -> Result<MatRef<'_>, Failure> {
        MatRef::new(&self.data, self.rows, self.cols, self.strides.0, self.strides.1).map_err(Failure::failed)
    }
}

/// A whole number from 1 up in a context.
pub(super) fn size(context: &Context, name: &str) -> Result<usize, String> {
    match context.number(name) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Checked here.
        Some(x) if (1.0..=1e9).contains(&x) && x.fract() == 0.0 => Ok(x as usize),
        found => Err(format!("{name} must be a whole number from 1 up, found {found:?}")),
    }
}

/// The strides of a dense `rows × cols` matrix, checked.
pub(super) fn strides(
    context: &Context,
    mat: &str,
    rows: usize,
    cols: usize,
) -> Result<(usize, usize), String> {
    let stride = |d: usize| size(context, &format!("{mat}_stride_{d}"));
    let found = (stride(0)?, stride(1)?);
    let dense = [Layout::RowMajor, Layout::ColumnMajor].map(|layout| layout.strides(rows, cols));
    if dense.contains(&found) {
        return Ok(found);
    }
    Err(format!(
        "{mat} is {rows}×{cols} in memory, so its strides must be {:?} or {:?}, found {found:?}",
        dense[0], dense[1]
    ))
}

/// What a product must be, without computing it: A·(B·x) for a vector x of random signs, in f64.
///
/// Comparing C·x with it row by row finds a wrong element of C as surely as its error exceeds
/// the rounding of its row (Freivalds, *Probabilistic machines can use less running time*, 1977),
/// in O(m·k + k·n) instead of O(m·k·n) operations: at 1024³ about 2 ms instead of 600 ms.
#[derive(Debug)]
pub(super) struct Projection {
    signs: Vec<f64>,
    expected: Vec<f64>,
    tolerance: f64,
}

impl Projection {
    pub(super) fn new(a: MatRef, b: MatRef, rng: &mut Rng) -> Self {
        let signs: Vec<f64> = (0..b.cols()).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect();
        let times = |m: MatRef, x: &[f64]| -> Vec<f64> {
            (0..m.rows())
                .map(|i| x.iter().enumerate().map(|(j, x)| f64::from(m.at(i, j)) * x).sum())
                .collect()
        };
        let expected = times(a, &times(b, &signs));
        // Elements of C are about √k/3 large and carry a rounding error of about ε√k/2 of that
        // when summed one by one; 16 times that leaves room for the tail over all rows.
        #[allow(clippy::cast_precision_loss)]
        let tolerance = 1e-6 * (a.cols() as f64).sqrt().max(1.0);
        Self { signs, expected, tolerance }
    }

    /// Checks a row-major product.
    pub(super) fn check(&self, c: &[f32]) -> Result<(), Failure> {
        let norm = self.expected.iter().map(|e| e * e).sum::<f64>();
        #[allow(clippy::cast_precision_loss)]
        let rms = (norm / self.expected.len().max(1) as f64).sqrt().max(f64::MIN_POSITIVE);
        for (row, expected) in c.chunks_exact(self.signs.len()).zip(&self.expected) {
            let found: f64 = row.iter().zip(&self.signs).map(|(c, x)| f64::from(*c) * x).sum();
            let error = (found - expected).abs() / rms;
            if error > self.tolerance || error.is_nan() {
                return Err(Failure::failed(format!(
                    "wrong result: relative error {error:.2e} (at most {:.2e} expected)",
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
        for (m, k, n) in [(1, 1, 1), (3, 700, 5), (40, 17, 300), (65, 512, 129)] {
            let mut rng = sampling::rng(3, (m * n) as u64);
            let a = Operand::random(m, k, (1, m), &mut rng);
            let b = Operand::random(k, n, (n, 1), &mut rng);
            let (a, b) = (a.view().unwrap(), b.view().unwrap());
            let projection = Projection::new(a, b, &mut rng);
            #[allow(clippy::cast_possible_truncation)]
            let c: Vec<f32> = reference::product(a, b).into_iter().map(|x| x as f32).collect();
            projection.check(&c).unwrap();
            // As if one product of two elements were missing from one sum.
            for at in [0, c.len() / 2, c.len() - 1] {
                let mut wrong = c.clone();
                wrong[at] -= a.at(at / n, k - 1) * b.at(k - 1, at % n);
                assert!(projection.check(&wrong).is_err(), "{m}×{k}×{n} at {at}");
                wrong[at] = f32::NAN;
                assert!(projection.check(&wrong).is_err());
            }
        }
    }
}
