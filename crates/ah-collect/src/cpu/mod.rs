//! The processor's side: kernels that run on the host.

pub mod kernels;
