//! The candidates on a processor: what libraries offer. Nothing here measures.
//!
//! | optimization | choices |
//! | --- | --- |
//! | [`mm`] | the crates `gemm` (one thread or all) and `matrixmultiply` |
//! | [`pad_mm`] | `gemm` on the operands as they are (`orig`) or padded with zeros first (`pad`) |
//!
//! All matrices are `f32`. [`mod@reference`] has the results in f64 that they are checked against.
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
pub mod reference;

pub use mm::MatMul;
pub use ndarray;
