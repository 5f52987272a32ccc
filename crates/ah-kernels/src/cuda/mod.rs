//! NVIDIA GPUs: kernels that are compiled for the device at hand, cuBLAS and cuBLASLt, and a runner for each
//! optimization.
//!
//! | modules | concern |
//! | --- | --- |
//! | `pad_mm`, `mm`, `mixed_mm`, `softmax` | the runner of one optimization |
//! | `source` | a kernel from a user's file |
//! | `products` | tests that compare every element of the products |
//! | `product`, `product_runner` | matrices and products of them, and the runner of the three optimizations that compute one |
//! | `policy`, `operands` | shared by the runners: timing policy, random operands and checks |
//! | `cublas`, `cublaslt` | products through NVIDIA's libraries |
//! | `device`, `clock`, `arena`, `nvml` | one GPU, its clock, its memory, its health |
//! | `nvrtc`, `kernels` | the compiler, and our kernels as text with their configurations |
//! | `library`, `owned`, `element`, `error` | CUDA's libraries and what they make, element types and kernels' arguments, errors |
//!
//! Nothing of CUDA is linked, so the same program runs on machines without it.

mod arena;
mod clock;
mod cublas;
mod cublaslt;
mod device;
mod element;
mod error;
pub(crate) mod kernels;
mod library;
mod mixed_mm;
mod mm;
mod nvml;
mod nvrtc;
mod operands;
mod owned;
mod pad_mm;
mod policy;
mod product;
mod product_runner;
#[cfg(test)]
mod products;
mod softmax;
pub mod source;

use ah_measure::BenchmarkRunner;
use ah_types::Optimization;
use device::Gpu;

use crate::ServeFn;

pub use device::count;
pub use error::CudaError;

/// A worker that measures this optimization on the GPU of this index; `None` if there is no such worker. If the GPU
/// or a library is missing, or a kernel does not compile, the worker says so.
pub fn serve_fn(optimization: Optimization, index: u32) -> Option<ServeFn> {
    fn over<R: BenchmarkRunner + 'static>(
        new: fn(Optimization, Gpu) -> Result<R, CudaError>,
        optimization: Optimization,
        index: u32,
    ) -> ServeFn {
        Box::new(move || ah_measure::serve(Gpu::open(index).and_then(|gpu| new(optimization, gpu))))
    }
    Some(match optimization.name.as_str() {
        "pad_mm" => over(pad_mm::runner, optimization, index),
        "mm" => over(mm::runner, optimization, index),
        "mixed_mm" => over(mixed_mm::runner, optimization, index),
        "softmax" => over(softmax::SoftmaxRunner::new, optimization, index),
        _ => return None,
    })
}
