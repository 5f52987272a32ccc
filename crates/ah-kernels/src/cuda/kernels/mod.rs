//! The candidate CUDA kernels and what there is to know about them without a device.
//!
//! The kernels are the `.cu` files in this folder; [`COMMON`] goes before each of them. One module
//! here for each: its configurations by name, the definitions to compile one with (`-DNAME=VALUE`),
//! whether it can run an input at all, and how to launch it. All of it is arithmetic, tested
//! without a GPU.
//!
//! | optimization | source | configurations |
//! | --- | --- | --- |
//! | `mm` | `mm.cu`, `mm_tma.cu` | [`Mm`], [`MmTma`] |
//! | `mixed_mm` | `mixed_mm.cu`, `mixed_mm_wgmma.cu`, `mixed_mm_direct.cu` | [`MixedMm`] |
//! | `softmax` | `softmax.cu` | [`Softmax`] |
//!
//! Every kernel has one entry, named like its file. All operands start at addresses that 16
//! divides, as every allocator of the device gives them.

mod launch;
mod mixed_mm;
mod mm;
mod mm_tma;
mod softmax;

pub use launch::{Half, Ineligibility, Launch, Limits};
pub use mixed_mm::{MixedMm, MixedMmProblem};
pub use mm::{Mm, MmProblem};
pub use mm_tma::{MmTma, TensorMap};
pub use softmax::{Softmax, SoftmaxProblem};

/// What is put before every kernel's source.
pub const COMMON: &str = include_str!("common.cuh");

#[cfg(test)]
mod tests {
    use super::launch::{H200, MOST};
    use super::*;

    #[test]
    fn sizes_whose_products_wrap_are_refused() {
        let [m, n, k] = [MOST; 3];
        let mm = MmProblem { m, n, k, element: Half::Float16, transposed: [false; 2], strides: [8; 2] };
        assert!(Mm::choices().iter().all(|choice| choice.launch(&mm, &H200).is_err()));
        assert!(MmTma::choices().iter().all(|choice| choice.launch(&mm, &H200).is_err()));
        let [n, k] = [MOST / 16 * 16; 2];
        let mixed = MixedMmProblem {
            m,
            n,
            k,
            activations: Half::Float16,
            signed: true,
            transposed: false,
            activation_stride: 8,
            weight_stride: 16,
        };
        assert!(MixedMm::choices(false).iter().all(|choice| choice.launch(&mixed, &H200).is_err()));
    }
}
