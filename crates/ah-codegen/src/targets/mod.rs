//! The targets. Each is one file or folder here, one folder of `templates/` and one line of [`TARGETS`].

mod c;
mod python;
mod pytorch;
mod rust;
mod triton;

pub use c::C;
pub use python::Python;
pub use pytorch::Pytorch;
pub use rust::Rust;
pub use triton::Triton;

use crate::target::Target;

/// All targets.
pub const TARGETS: [&dyn Target; 5] = [&Rust, &Pytorch, &C, &Python, &Triton];
