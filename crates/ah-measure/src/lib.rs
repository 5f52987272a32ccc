//! Measures the choices of one input. `ah-collect` and the `MultiKernel` of `ah-runtime` use the same
//! rules.
//!
//! Begin with [`BenchmarkRunner`]. It knows one optimization on one device: it draws contexts, makes the
//! operands of an input, checks a choice's result against a reference, and has the clock of its device.
//! This crate does the rest:
//!
//! 1. [`sampling`] draws from a seed, so that the same seed gives the same inputs.
//! 2. [`measure()`] measures one input: it checks every choice, warms it up, then lets the choices take
//!    turns.
//! 3. [`Race`] has the rules of the turns: which choice is next, which is done, which is surely too slow.
//!    It needs no clock and no device. [`interval`] has its statistics.
//! 4. [`this_cpu`] identifies the processor, for logs and guards.
//!
//! A lost sample is never written as 0, and a wrong result is never timed.
#![forbid(unsafe_code)]

mod bench;
mod eligibility;
mod failure;
mod host;
pub mod interval;
mod measure;
mod race;
mod runner;
pub mod sampling;

pub use bench::{Bench, Burst, Cell, Times};
pub use eligibility::{LEFT_OUT, check_eligibility};
pub use failure::Failure;
pub use host::this_cpu;
pub use measure::{Measurement, measure, measure_choices, measure_some};
pub use race::{Race, Standing};
pub use runner::{BenchmarkRunner, Planned, Runner, Subject};
