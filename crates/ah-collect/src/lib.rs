//! Measures the choices of an optimization on real inputs and appends the times to the log.
//!
//! The way of the data is **plan → measure → append**, and [`collect()`] reads that way:
//!
//! 1. [`plan`]: which inputs. The seeded sequence that a runner
//!    [draws](ah_measure::BenchmarkRunner::draw), or a list from the user, without the inputs in the log.
//! 2. [`measure()`](ah_measure::measure): one input. Every choice's result is checked against a reference,
//!    then the choices take turns until each median is known well enough
//!    ([`Race`](ah_measure::Race) holds the rules).
//! 3. Each input is appended as one write of whole lines; skips and failures go with their reasons to
//!    `<log>.outcomes.jsonl`. A `kill -9` costs the input in hand.
//!
//! Begin with `examples/own_runner.rs`: a [`BenchmarkRunner`](ah_measure::BenchmarkRunner) for functions
//! of your own. The shipped runners are in `ah-kernels`. [`judge`] measures a learned heuristic on fresh
//! inputs, [`describe`] puts a log into numbers, and a [`worker`] process keeps a kernel that hangs or
//! crashes from costing more than its choice on one input; [`fake`] is a device that does all that on
//! purpose.
//!
//! A lost sample is never written as 0, a wrong result is never timed, and no clock or setting of
//! a device is ever changed.
#![forbid(unsafe_code)]

mod append;
#[cfg(feature = "kernels")]
pub mod backend;
#[cfg(feature = "cli")]
pub mod cli;
mod collect;
pub mod describe;
mod error;
pub mod fake;
pub mod judge;
mod measuring;
mod observer;
mod options;
mod own;
pub mod plan;
mod summary;
pub mod worker;

pub use ah_measure::{self, sampling};
pub use collect::collect;
pub use error::CollectError;
pub use observer::Observer;
pub use options::Options;
#[cfg(unix)]
pub use own::open_commands;
pub use own::{Decision, FeatureValue, NamedDecision, decision};
pub use rand;
pub use summary::Summary;
