//! The candidates on a processor: what libraries offer. Nothing here measures.
//!
//! | optimization | choices |
//! | --- | --- |
//! | [`mm`] | the crates `gemm` (one thread or all) and `matrixmultiply` |
//! | [`pad_mm`] | `gemm` on the operands as they are (`orig`) or padded with zeros first (`pad`) |
//!
//! All matrices are `f32`.
//!
//! ```
//! use ah_kernels::cpu::kernels::{MatMul, ndarray::Array2, ndarray::array};
//!
//! let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 0.0], [0.0, 1.0]]);
//! for choice in MatMul::CHOICES {
//!     let mut c = Array2::zeros((2, 2));
//!     choice.run(a.view(), b.view(), c.view_mut());
//!     assert_eq!(a, c);
//! }
//! ```

pub mod mm;
pub mod pad_mm;

pub use mm::MatMul;
pub use ndarray;

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayView2};

    /// ‖c − a · b‖ / ‖a · b‖, or ‖c‖ where the product in f64 is 0. It is NaN if either holds a NaN, so that no comparison
    /// with a limit passes.
    pub fn relative_error(a: ArrayView2<f32>, b: ArrayView2<f32>, c: &Array2<f32>) -> f64 {
        let mut difference = 0.0;
        let mut norm = 0.0;
        for (&found, &expected) in c.iter().zip(&a.mapv(f64::from).dot(&b.mapv(f64::from))) {
            difference += (f64::from(found) - expected).powi(2);
            norm += expected * expected;
        }
        if norm == 0.0 { difference.sqrt() } else { (difference / norm).sqrt() }
    }
}
