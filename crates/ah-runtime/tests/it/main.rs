//! The integration tests of `ah-runtime`: one binary, which links once.

// The program of `make pipeline` must compile here, where every change is tested. It links a generated crate of this name.
extern crate self as simple_heuristic;
#[allow(dead_code)]
#[path = "../../../../scripts/consult/src/main.rs"]
mod consult;
fn register() {}

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
#[path = "../../../ah-model/tests/it/reference.rs"]
mod reference;
mod stress;
