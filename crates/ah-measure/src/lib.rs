//! Measures the choices of one input. `ah-collect` and the `MultiKernel` of `ah-runtime` use the same
//! rules.
//!
//! Begin with [`BenchmarkRunner`]. It knows one optimization on one device: it draws contexts, makes the
//! operands of an input, checks a choice's result against a reference, and has the clock of its device.
//! [`serve()`] makes a worker of it, a process that `ah-collect` measures; [`protocol`] has the messages.
//! This crate does the rest:
//!
//! 1. [`sampling`] draws from a seed, so that the same seed gives the same inputs; [`draws`] are ranges in files.
//! 2. [`measure_choices`] measures one input: it checks every choice, warms it up, then lets the choices take
//!    turns.
//! 3. `race` has the rules of the turns: which choice is next, which is done, which is surely too slow.
//!    It needs no clock and no device. [`interval`] has its statistics.
//! 4. [`decision_ns`] times a small decision on the processor.
//!
//! A lost sample is never written as 0, and a wrong result is never timed.
#![forbid(unsafe_code)]

mod bench;
mod decision_time;
pub mod draws;
pub mod interval;
mod measure;
pub mod protocol;
mod race;
mod runner;
pub mod sampling;
mod serve;

pub use ah_types::Failure;
pub use bench::{Bench, Burst, Cell, Times};
pub use decision_time::decision_ns;
pub use measure::{Measurement, measure_choices};
pub use runner::{BenchmarkRunner, Experiment};
pub use serve::{lock, refuse, serve};
