//! The kernels that ship to be measured, and a [`BenchmarkRunner`](ah_measure::BenchmarkRunner) for each
//! optimization and backend.
//!
//! Begin with `cpu/mm.rs`: a runner draws shapes, makes the operands, checks results and times the
//! kernels of [`cpu::kernels`]. [`cuda`] does the same on NVIDIA GPUs and links nothing of CUDA, so one
//! program runs on machines with and without a GPU.

pub mod cpu;
pub mod cuda;
mod layout;
