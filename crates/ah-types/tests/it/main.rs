//! The integration tests of `ah-types`: one binary, which links once. It also checks the rules of all crates.

mod import_circles;
mod import_rules;
mod log_limits;
mod log_writer;
mod logs;
mod optimizations;
mod public_api;
mod readme;
