//! NVIDIA GPUs: kernels that are compiled for the device at hand, cuBLAS and cuBLASLt, and a runner for each
//! optimization.
//!
//! | modules | concern |
//! | --- | --- |
//! | `pad_mm`, `mm`, `mixed_mm`, `softmax` | the runner of one optimization |
//! | `source` | a kernel from a user's file |
//! | `products` | tests that compare every element of the products |
//! | `subject`, `shape`, `operands`, `workspace` | shared by the runners: policy, features, random operands and checks, memory |
//! | `cublas`, `cublaslt` | products through NVIDIA's libraries |
//! | `device`, `clock`, `arena`, `nvml` | one GPU, its clock, its memory, its health |
//! | `nvrtc`, [`kernels`] | the compiler, and our kernels as text with their configurations |
//! | `library`, `element`, `error` | the presence of CUDA's libraries, element types, errors |
//!
//! Nothing of CUDA is linked, so the same program runs on machines without it.

mod arena;
mod clock;
mod cublas;
mod cublaslt;
mod device;
mod element;
mod error;
pub mod kernels;
mod library;
mod mixed_mm;
mod mm;
mod nvml;
mod nvrtc;
mod operands;
mod pad_mm;
#[cfg(test)]
mod products;
mod shape;
mod softmax;
pub mod source;
mod subject;
mod workspace;

use ah_measure::{BenchmarkRunner as _, Runner};
use ah_types::Optimization;
use device::Gpu;

pub use error::CudaError;

/// Returns the number of GPUs.
///
/// # Errors
/// The driver is missing or does not work.
pub fn count() -> Result<u32, CudaError> {
    device::count()
}

/// Opens the runner of this optimization on the GPU of this index; `None` if there is no such runner.
///
/// # Errors
/// There is no such GPU, a library is missing or too old, or a kernel does not compile.
pub fn open(optimization: Optimization, index: u32) -> Result<Option<Box<dyn Runner>>, CudaError> {
    let gpu = || Gpu::open(index);
    Ok(Some(match optimization.name.as_str() {
        "pad_mm" => pad_mm::PadMmRunner::new(optimization, gpu()?)?.boxed(),
        "mm" => mm::MmRunner::new(optimization, gpu()?)?.boxed(),
        "mixed_mm" => mixed_mm::MixedMmRunner::new(optimization, gpu()?)?.boxed(),
        "softmax" => softmax::SoftmaxRunner::new(optimization, gpu()?)?.boxed(),
        _ => return Ok(None),
    }))
}
