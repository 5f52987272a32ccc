//! Measures the choices of an optimization on real inputs and appends the times to the log.
//!
//! A run is **plan → measure → append**, and `collect` reads that way:
//!
//! 1. `plan` lists the inputs: the seeded sequence, or a list from the user, without the inputs in the log.
//! 2. A `worker`, a process for each device, measures one input after the other. Every choice's result is checked
//!    against a reference, then the choices take turns until each median is known well enough
//!    ([`measure_choices`](ah_measure::measure_choices)). Whatever is measured is a worker: functions, shipped kernels,
//!    CUDA sources, commands, programs in other languages. A choice that hangs or crashes costs only its time on
//!    one input.
//! 3. `append` adds each input as one write of whole lines; outcomes without a time, with their reasons, go to
//!    `<log>.outcomes.jsonl`. A `kill -9` costs only the input in progress.
//!
//! Begin with [`decision`] and `examples/sort.rs`: a collecting program for functions of your own. For anything
//! else, implement [`BenchmarkRunner`](ah_measure::BenchmarkRunner), [serve](ah_measure::serve()) it, and measure
//! your program with `ah-collect --worker`.
//!
//! A lost sample is never written as 0, a wrong result is never timed, and no clock or setting of
//! a device is ever changed.
#![forbid(unsafe_code)]

#[cfg(not(unix))]
compile_error!("ah-collect needs a Unix: it ends workers and commands with all processes that they started");

mod append;
mod cli;
mod collect;
mod custom;
mod eligibility;
mod measuring;
mod options;
mod outcomes;
mod plan;
mod process_group;
mod progress;
mod summary;
#[cfg(feature = "kernels")]
pub mod tool;
mod units;
mod worker;

pub use ah_measure::sampling;
pub use custom::{Decision, FeatureValue, NamedDecision, decision};
pub use rand;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use worker::measure_scripted;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
