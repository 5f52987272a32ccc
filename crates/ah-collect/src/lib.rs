//! Measures the candidate kernels of an optimization on real inputs and appends to the log.
//!
//! The way of the data: **plan → measure → append**.
//!
//! 1. A [`Plan`](plan::Plan) says which inputs: the seeded sequence that a runner
//!    [draws](ah_measure::BenchmarkRunner::draw), or a list that the user gave, without what the log holds.
//! 2. [`measure()`](ah_measure::measure) takes one input: every choice's result is checked against a reference, then the
//!    choices take turns until each median is known well enough
//!    ([`Race`](ah_measure::Race) holds the rules).
//! 3. [`collect()`] appends each input as one write of whole lines, and skips and failures with
//!    their reasons to a file [beside](outcomes) it. What a `kill -9` costs is the input in hand.
//!
//! Implement [`BenchmarkRunner`](ah_measure::BenchmarkRunner) to measure kernels of your own;
//! `examples/own_runner.rs` does. The runners that ship are in `ah-kernels`; [`fake`] is a device that misbehaves on purpose. [`judge`]
//! measures how good a learned heuristic's choices are on fresh inputs. A [`worker`] is a process of
//! its own that measures, so that a kernel that hangs or crashes costs one choice on one input.
//!
//! A lost sample is never written as 0, a wrong result is never timed, and no clock or setting of
//! a device is ever changed.

#[cfg(feature = "kernels")]
pub mod backend;
mod collect;
pub mod facts;
pub mod fake;
pub mod judge;
#[cfg(feature = "kernels")]
pub mod list;
pub mod outcomes;
pub mod plan;
mod progress;
mod summary;
pub mod worker;

pub use ah_measure;
pub use collect::{CollectError, Options, collect};
pub use progress::Progress;
pub use summary::Summary;
