//! The candidate kernels of the CPU optimizations, free of anything that measures.
//!
//! | optimization | choices | room |
//! | --- | --- | --- |
//! | `mm` | two libraries, our unpacked kernels in several tile sizes | [`mm`], built on `direct`, `micro` |
//! | `pad_mm` | `orig`, `pad` | [`pad_mm`] |
//! | `softmax` | three passes, two passes, persistent rows | [`softmax`], `exp` |
//!
//! All matrices are `f32`, seen through [`MatRef`] and [`MatMut`], which check their slices once,
//! at the door; the kernels behind them use raw pointers. Vector code is written once over
//! [`pulp::Simd`] and compiled for each [`InstructionSet`]; which one runs is decided at run time.
//! [`mod@reference`] holds the naive, f64-accumulated versions that results are checked against.
//!
//! ```
//! use ah_kernels::cpu::kernels::{MatMut, MatMul, MatRef, Scratch};
//!
//! let (a, b, mut c) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 1.0], [0.0; 4]);
//! let mut scratch = Scratch::default();
//! for choice in MatMul::choices() {
//!     if choice.available().is_ok() {
//!         let mut c = MatMut::row_major(&mut c, 2, 2)?;
//!         let (a, b) = (MatRef::row_major(&a, 2, 2)?, MatRef::row_major(&b, 2, 2)?);
//!         choice.run(a, b, &mut c, &mut scratch)?;
//!     }
//! }
//! assert_eq!(a, c);
//! # Ok::<(), ah_kernels::cpu::kernels::KernelError>(())
//! ```

mod copy;
mod direct;
mod exp;
mod instruction_set;
mod matrix;
mod micro;
pub mod mm;
pub mod pad_mm;
pub mod reference;
mod scratch;
pub mod softmax;

pub use instruction_set::InstructionSet;
pub use matrix::{KernelError, MatMut, MatRef};
pub use mm::{MatMul, Threads};
pub use pad_mm::{PadMm, Side};
pub use scratch::Scratch;
pub use softmax::Softmax;
