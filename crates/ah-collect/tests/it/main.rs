//! The integration tests of `ah-collect`: one binary, which links once.

mod bad_input;
mod collecting;
mod commands;
mod common;
mod cuda;
mod cuda_source;
mod custom_functions;
mod kills;
mod reporting;
mod streams;
mod worker;
mod workers;
