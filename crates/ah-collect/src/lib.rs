//! Measures the candidate kernels of an optimization and writes the log.

pub mod cpu;
pub mod cuda;
