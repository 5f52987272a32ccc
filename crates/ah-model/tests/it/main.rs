//! The integration tests of `ah-model`: one binary, which links once.

mod boosters;
mod expressions;
mod invariant;
mod models;
mod random_models;
mod reference;
