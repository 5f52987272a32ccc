//! The results in f64. Every result is compared with them.

use super::mm::MatRef;

/// Computes `a · b`, row-major, in f64.
///
/// # Panics
/// If the inner dimensions differ.
pub fn product(a: MatRef, b: MatRef) -> Vec<f64> {
    a.mapv(f64::from).dot(&b.mapv(f64::from)).iter().copied().collect()
}

/// Computes the softmax of each row of `cols` elements in f64.
///
/// # Panics
/// If `cols` is 0.
pub fn softmax(input: &[f32], cols: usize) -> Vec<f64> {
    let mut output = Vec::with_capacity(input.len());
    for row in input.chunks_exact(cols) {
        let max = row.iter().copied().map(f64::from).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|&x| (f64::from(x) - max).exp()).sum();
        output.extend(row.iter().map(|&x| (f64::from(x) - max).exp() / sum));
    }
    output
}

/// Returns ‖found − expected‖ / ‖expected‖, or ‖found‖ where `expected` is 0. It is NaN if either holds a NaN,
/// so that no comparison with a limit passes.
pub fn relative_error(found: &[f32], expected: &[f64]) -> f64 {
    if found.len() != expected.len() {
        return f64::NAN;
    }
    let difference = found.iter().zip(expected).map(|(&f, &e)| (f64::from(f) - e).powi(2));
    let norm = expected.iter().map(|e| e * e).sum::<f64>().sqrt();
    let distance = difference.sum::<f64>().sqrt();
    if norm == 0.0 { distance } else { distance / norm }
}

#[cfg(test)]
mod tests {
    use super::super::mm::matrix;
    use super::*;

    #[test]
    fn a_product_is_the_sum_of_its_terms() {
        let [x, y]: [Vec<f32>; 2] =
            [3, 7].map(|step| (0..9 * 11).map(|i| (i * step % 13) as f32 - 6.0).collect());
        for strides in [(11, 1), (1, 9)] {
            let (a, b) = (matrix(&x, (9, 11), strides).unwrap(), matrix(&y, (11, 9), (9, 1)).unwrap());
            let sum = |i, j| (0..11).map(|p| f64::from(a[(i, p)]) * f64::from(b[(p, j)])).sum::<f64>();
            let expected: Vec<f64> = (0..81).map(|at| sum(at / 9, at % 9)).collect();
            assert_eq!(product(a, b), expected);
        }
    }
}
