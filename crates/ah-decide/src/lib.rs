//! Executes learned heuristics: flat tables in, choice out. No standard library, no dependency, no allocation.
//!
//! `ah-model` lays a model out as these tables. `ah-train` judges with them, `ah-runtime` decides with them, and
//! the generated Rust of boosted models contains [`SOURCE`], the very file that is compiled here.
#![no_std]

mod executor;

pub use executor::*;

/// The text of the executor, for generated crates: a module without imports that uses `core` alone.
pub const SOURCE: &str = include_str!("executor.rs");
