//! The integration tests of `ah-runtime`: one binary, which links once.

mod auto_heuristic;
mod common;
mod environment;
mod files_do_not_block;
mod hostile;
mod loaded_model;
mod misbehaving_kernels;
mod multi_kernel;
mod multi_kernel_disk;
mod no_allocation;
mod pin;
mod stress;
