//! The product in f64. Every product is compared with it.

use ndarray::{Array2, ArrayView2};

/// Computes `a · b` in f64.
///
/// # Panics
/// If the inner dimensions differ.
pub fn product(a: ArrayView2<f32>, b: ArrayView2<f32>) -> Array2<f64> {
    a.mapv(f64::from).dot(&b.mapv(f64::from))
}

/// Returns ‖found − expected‖ / ‖expected‖, or ‖found‖ where `expected` is 0, of as many elements. It is NaN if either
/// holds a NaN, so that no comparison with a limit passes.
#[cfg(test)]
pub(super) fn relative_error<'a>(
    found: impl IntoIterator<Item = &'a f32>,
    expected: impl IntoIterator<Item = &'a f64>,
) -> f64 {
    let (mut difference, mut norm) = (0.0, 0.0);
    for (&found, &expected) in found.into_iter().zip(expected) {
        difference += (f64::from(found) - expected).powi(2);
        norm += expected * expected;
    }
    if norm == 0.0 { difference.sqrt() } else { (difference / norm).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_the_sum_of_its_terms() {
        let [x, y] = [3, 7]
            .map(|step| Array2::from_shape_fn((9, 11), |(i, j)| ((i * 11 + j) * step % 13) as f32 - 6.0));
        for (a, b) in [(x.view(), y.t()), (y.t(), x.view())] {
            let sum =
                |(i, j)| (0..a.ncols()).map(|p| f64::from(a[(i, p)]) * f64::from(b[(p, j)])).sum::<f64>();
            assert_eq!(product(a, b), Array2::from_shape_fn((a.nrows(), b.ncols()), sum));
        }
    }
}
