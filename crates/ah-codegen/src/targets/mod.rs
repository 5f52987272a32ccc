//! The targets. Each is one file or folder here, one folder of `templates/` and one line of [`TARGETS`].

mod aiter;
mod c;
mod inductor;
mod python;
mod pytorch;
mod rust;
mod sglang;
mod triton;
mod vllm;

pub use aiter::Aiter;
pub use c::C;
pub use inductor::Inductor;
pub use python::Python;
pub use pytorch::Pytorch;
pub use rust::Rust;
pub use sglang::Sglang;
pub use triton::Triton;
pub use vllm::Vllm;

use crate::target::Target;

/// All targets.
pub const TARGETS: [&dyn Target; 9] =
    [&Rust, &Pytorch, &C, &Python, &Triton, &Inductor, &Vllm, &Sglang, &Aiter];
