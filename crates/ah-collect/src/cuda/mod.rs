//! NVIDIA GPUs.

pub mod kernels;
