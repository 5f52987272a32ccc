//! The shipped kernels, and a [`BenchmarkRunner`] for each optimization on processors and on NVIDIA GPUs.
//!
//! Begin with `cpu/mm.rs`: a runner draws shapes, makes the operands, checks results, and times the kernels of
//! [`cpu::kernels`]. [`cuda`] does the same on GPUs. It loads CUDA at run time and links none of it, so one
//! program runs on machines with and without a GPU.
//!
//! [`BenchmarkRunner`]: ah_measure::BenchmarkRunner

pub mod cpu;
pub mod cuda;
mod features;

/// Serves a collector over standard input and output, see [`ah_measure::serve()`].
pub type Server = Box<dyn FnOnce() -> std::io::Result<()>>;
