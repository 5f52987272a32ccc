//! The candidates on a processor: what libraries offer, and plain loops. Nothing here measures.
//!
//! | optimization | choices |
//! | --- | --- |
//! | [`mm`] | the crates `gemm` (one thread or all) and `matrixmultiply` |
//! | [`pad_mm`] | `gemm` on the operands as they are (`orig`) or padded with zeros first (`pad`) |
//! | [`softmax`] | three loops over a row, on one thread or on all |
//!
//! All matrices are `f32`. Results are row-major and without gaps. [`mod@reference`] has the results in f64 that
//! they are checked against.
//!
//! ```
//! use ah_kernels::cpu::kernels::{MatMul, matrix};
//!
//! let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 1.0]);
//! for choice in MatMul::CHOICES {
//!     let mut c = [f32::NAN; 4];
//!     choice.run(matrix(&a, (2, 2), (2, 1))?, matrix(&b, (2, 2), (2, 1))?, &mut c)?;
//!     assert_eq!(a, c);
//! }
//! # Ok::<(), ah_kernels::cpu::kernels::KernelError>(())
//! ```

pub mod mm;
pub mod pad_mm;
pub mod reference;
pub mod softmax;

pub use mm::{KernelError, MatMul, MatRef, Threads, matrix};
pub use softmax::Softmax;
