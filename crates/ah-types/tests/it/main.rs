//! The integration tests of `ah-types`: one binary, which links once.

mod boosters;
mod expressions;
mod import_circles;
mod import_rules;
mod invariant;
mod log_limits;
mod log_writer;
mod logs;
mod models;
mod optimizations;
mod random_models;
mod readme;
