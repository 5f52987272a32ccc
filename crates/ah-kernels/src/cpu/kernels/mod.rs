//! The candidate kernels of the CPU optimizations. Nothing here measures.
//!
//! | optimization | choices | modules |
//! | --- | --- | --- |
//! | `mm` | two libraries, our unpacked kernel in several instruction sets | [`mm`] on `libraries`, `direct`, `micro` |
//! | `pad_mm` | `orig`, `pad` | [`pad_mm`] |
//! | `softmax` | a plain loop, three passes, two passes, persistent rows | [`softmax`] on `exp` |
//!
//! All matrices are `f32`. Kernels see them through [`MatRef`] and [`MatMut`], which check their slices once ([`Extent`]);
//! the code behind them uses raw pointers. Vector code is written once over [`pulp::Simd`] and compiled for each
//! [`InstructionSet`]; the choice decides which one runs. [`mod@reference`] has the naive versions, accumulated
//! in f64, that results are checked against.
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
mod error;
mod exp;
mod extent;
mod instruction_set;
mod libraries;
mod matrix;
mod micro;
pub mod mm;
pub mod pad_mm;
pub mod reference;
mod scratch;
pub mod softmax;
mod threads;

pub use error::KernelError;
pub use extent::Extent;
pub use instruction_set::InstructionSet;
pub use matrix::{MatMut, MatRef};
pub use mm::MatMul;
pub use pad_mm::{PadMm, Side};
pub use scratch::Scratch;
pub use softmax::Softmax;
pub use threads::Threads;
