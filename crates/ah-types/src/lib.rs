//! The common types of the tools: what was measured, and what is to be decided.
//!
//! 1. An [`Optimization`] is a decision point with a name. Its file lists the features of a context, the derived features that
//!    are computed from them, the fallback, and the domain in which a heuristic is valid.
//! 2. `ah-collect` measures choices on inputs, each with an [`Outcome`], and appends to a [log](mod@log) (`train.txt`).
//! 3. `ah-train` reads the log and writes a model, which [`ah_model`] defines.
//!
//! Begin with `optimization/pad_mm.toml` (a decision) and [`log::read`]. Nothing here runs a kernel, reads a clock or
//! prints.
#![forbid(unsafe_code)]

mod json;
pub mod log;
mod number;
mod optimization;
mod outcome;
pub mod random;
mod single_choice;
mod tally;
mod timing;

pub use json::strict_json;
pub use number::{csv_line, number};
pub use optimization::{DevicePrecondition, LogOptimization, Optimization};
pub use outcome::{Failure, Outcome, median};
pub use single_choice::SingleChoice;
pub use tally::Tally;
pub use timing::TimingPolicy;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
