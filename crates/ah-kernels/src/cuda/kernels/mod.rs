//! The candidate CUDA kernels, and everything about them that needs no device.
//!
//! The kernels are the `.cu` files in this folder; [`COMMON`] is put in front of each. Each has a module
//! here: its configurations by name, the definitions to compile one with (`-DNAME=VALUE`), whether it can
//! run an input, and how to launch it. All of this is arithmetic, tested without a GPU.
//!
//! | optimization | source | configurations |
//! | --- | --- | --- |
//! | `mixed_mm` | `mixed_mm.cu`, `mixed_mm_wgmma.cu`, `mixed_mm_direct.cu` after `mixed_mm_weights.cu` | [`MixedMm`] |
//! | `softmax` | `softmax.cu` | [`Softmax`] |
//!
//! Every kernel has one entry, named like its file. All operands start at multiples of 16 bytes, as every
//! allocator of the device returns them.

mod launch;
mod mixed_mm;
mod softmax;

pub use launch::Grid;
pub(super) use mixed_mm::Launch;
pub use mixed_mm::MixedMm;
pub use softmax::Softmax;

/// The text in front of every kernel's source.
pub const COMMON: &str = include_str!("common.cuh");

#[cfg(test)]
mod tests {
    use super::super::element::Element;
    use super::super::product::Product;
    use super::launch::GREATEST_INDEX;
    use super::launch::tests::H200;
    use super::*;

    #[test]
    fn sizes_whose_products_wrap_are_refused() {
        let [n, k] = [GREATEST_INDEX / 16 * 16; 2];
        let mixed = Product::dense([GREATEST_INDEX, k, n], [false; 2], [Element::F16, Element::I8], false);
        assert!(MixedMm::ALL.iter().all(|choice| choice.launch(&mixed, &H200).is_err()));
    }
}
