//! Measures the choices of an optimization on real inputs and appends the times to the log.
//!
//! A run is **plan → measure → append**, and [`collect()`] reads that way:
//!
//! 1. `plan` lists the inputs: the seeded sequence that a runner
//!    [draws](ah_measure::BenchmarkRunner::draw), or a list from the user, without the inputs in the log.
//! 2. [`measure()`](ah_measure::measure) measures one input. Every choice's result is checked against a
//!    reference, then the choices take turns until each median is known well enough
//!    ([`Race`](ah_measure::Race) has the rules).
//! 3. Each input is appended as one write of whole lines; skips and failures with their reasons go to
//!    `<log>.outcomes.jsonl`. A `kill -9` costs only the input in progress.
//!
//! Begin with [`decision`] and `examples/sort.rs`: a collecting program for functions of your own. For anything
//! else, implement [`BenchmarkRunner`](ah_measure::BenchmarkRunner); `ah-kernels` has the shipped runners.
//! In a worker process, a kernel that hangs or crashes costs only its choice on one input; the fake device does all that
//! on purpose.
//!
//! A lost sample is never written as 0, a wrong result is never timed, and no clock or setting of
//! a device is ever changed.
#![forbid(unsafe_code)]

mod adaptive;
mod append;
#[cfg(feature = "kernels")]
mod backend;
#[cfg(feature = "cli")]
mod cli;
mod collect;
mod custom;
mod error;
#[cfg(feature = "kernels")]
mod fake;
mod measuring;
mod observer;
mod options;
mod plan;
#[cfg(feature = "cli")]
mod process_group;
#[cfg(feature = "kernels")]
mod replay;
#[cfg(feature = "cli")]
mod report;
mod summary;
mod undefined_features;
mod units;
#[cfg(feature = "cli")]
mod worker;

pub use ah_measure::{self, sampling};
#[cfg(feature = "kernels")]
pub use backend::Backend;
#[cfg(feature = "kernels")]
#[doc(hidden)]
pub use cli::tool::main as main_of_the_tool;
pub use collect::collect;
pub use custom::{Decision, FeatureValue, NamedDecision, decision};
pub use error::CollectError;
pub use observer::Observer;
pub use options::Options;
pub use plan::Shard;
pub use rand;
pub use summary::Summary;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use worker::measure_scripted;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
