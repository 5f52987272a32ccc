//! Naive versions, accumulated in f64. Every result is compared with them.

use super::matrix::MatRef;

/// Computes `a · b`, row-major, each sum in f64.
///
/// # Panics
/// If the inner dimensions differ.
pub fn product(a: MatRef, b: MatRef) -> Vec<f64> {
    assert_eq!(a.cols(), b.rows(), "inner dimensions");
    let mut c = vec![0.0; a.rows() * b.cols()];
    for i in 0..a.rows() {
        let row = &mut c[i * b.cols()..][..b.cols()];
        for p in 0..a.cols() {
            let x = f64::from(a.at(i, p));
            for (j, sum) in row.iter_mut().enumerate() {
                *sum += x * f64::from(b.at(p, j));
            }
        }
    }
    c
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
