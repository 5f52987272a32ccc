//! The integration tests of `ah-codegen`: one binary, which links once.

mod c_limits;
mod cli;
mod equality;
mod hostile;
mod hostile_names;
mod inductor;
mod models;
mod package;
#[path = "../../../ah-model/tests/it/reference.rs"]
mod reference;
mod triton;
