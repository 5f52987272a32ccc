//! NVIDIA GPUs: kernels that are compiled for the device at hand, cuBLAS and cuBLASLt, and a
//! runner for each optimization.
//!
//! From the outside in: a runner (`pad_mm`, `mm`, `mixed_mm`, `softmax`) knows one optimization, and
//! `faults` one that goes wrong on purpose; [`kernels`] are our own, as text and what there is to know
//! of them; `device` is one GPU with its clock, `arena` its memory, `operands` makes random operands
//! and checks results there; `nvrtc` compiles, `cublas` and `cublaslt` multiply, `nvml` watches the
//! card; `library` asks for CUDA's libraries before anything touches them. Nothing of CUDA is
//! linked: the same program runs on machines without it.

mod arena;
mod cublas;
mod cublaslt;
mod device;
mod element;
mod error;
mod faults;
pub mod kernels;
mod library;
mod mixed_mm;
mod mm;
mod nvml;
mod nvrtc;
mod operands;
mod pad_mm;
mod shape;
mod softmax;
mod tensor_map;
mod workspace;

use ah_types::{Context, Device, Optimization, TimingPolicy};

use ah_measure::{BenchmarkRunner as _, Failure, Runner, Subject};
use device::Gpu;
use element::Element;
pub use error::CudaError;
pub use faults::OPTIMIZATION as FAULTS;

/// How many GPUs there are.
///
/// # Errors
/// The driver is missing or does not work.
pub fn count() -> Result<u32, CudaError> {
    device::count()
}

/// The runner of this optimization on the GPU of this index; `None` where there is none.
///
/// # Errors
/// There is no such GPU, a library is missing or too old, a kernel does not compile.
pub fn open(optimization: Optimization, index: u32) -> Result<Option<Box<dyn Runner>>, CudaError> {
    let gpu = || Gpu::open(index);
    Ok(Some(match optimization.name.as_str() {
        "pad_mm" => pad_mm::PadMmRunner::new(optimization, gpu()?)?.boxed(),
        "mm" => mm::MmRunner::new(optimization, gpu()?)?.boxed(),
        "mixed_mm" => mixed_mm::MixedMmRunner::new(optimization, gpu()?)?.boxed(),
        "faults" => faults::FaultsRunner::new(optimization, gpu()?)?.boxed(),
        "softmax" => softmax::SoftmaxRunner::new(optimization, gpu()?)?.boxed(),
        _ => return Ok(None),
    }))
}

/// Cold samples, as Triton's do_bench takes them. Kernels differ by far less from run to run than
/// a processor's do: six samples, the least that have an interval, are mostly enough.
fn timing() -> TimingPolicy {
    TimingPolicy {
        warmup_runs: 1,
        min_samples: 6,
        max_samples: 18,
        target_relative_error: 0.01,
        budget_ms: 100.0,
        min_sample_ms: 0.0,
        cold: true,
        early_stop_ratio: 2.0,
        burst: 3,
        repetitions: 3,
    }
}

/// The choices of an optimization on this GPU.
fn subject(optimization: Optimization, gpu: &Gpu, choices: Vec<String>, timing: TimingPolicy) -> Subject {
    Subject { optimization, device: Device::Cuda(gpu.identity().clone()), choices, timing }
}

/// The features that PyTorch's `mm` and `mixed_mm` share: sizes m, k, n, and of each matrix its
/// strides and type.
fn product_context(
    [m, k, n]: [u64; 3],
    (a, a_element): ((u64, u64), Element),
    (b, b_element): ((u64, u64), Element),
) -> Context {
    Context::new()
        .with("m", m)
        .with("k", k)
        .with("n", n)
        .with("mat1_stride_0", a.0)
        .with("mat1_stride_1", a.1)
        .with("mat2_stride_0", b.0)
        .with("mat2_stride_1", b.1)
        .with("mat1_dtype", a_element.name())
        .with("mat2_dtype", b_element.name())
        .with("mat1_iscontig", a == (k, 1))
        .with("mat2_iscontig", b == (n, 1))
}

/// The reason without the value found, so that a choice that many inputs do not suit has one
/// reason and not one for each size.
#[allow(clippy::needless_pass_by_value)] // For map_err.
fn ineligible(reason: kernels::Ineligible) -> Failure {
    let reason = reason.to_string();
    Failure::skipped(reason.split(", found").next().unwrap_or_default())
}

/// PyTorch's feature `using_tf32`.
fn with_tf32(context: Context, element: Element, tf32: bool) -> Context {
    if element == Element::F32 {
        context.with("using_tf32", tf32)
    } else {
        context.with("using_tf32", "not_float_32")
    }
}
