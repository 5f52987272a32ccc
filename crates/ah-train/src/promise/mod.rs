//! The promise: at most a share of the inputs is slower than the fallback by more than a limit.
//!
//! [`trainer`] has what to learn and what comes of it, [`calibrate`] finds the threshold on the
//! [risk ratio](crate::tree::risk) of a choice, [`risk_model`] the risk beside boosters, [`price`] what
//! the promise costs, and [`cross_fit`] learns. [`ladder`] compares sizes.

pub mod calibrate;
pub mod cross_fit;
pub mod ladder;
pub mod price;
pub mod risk_model;
pub mod trainer;

pub use ladder::{Ladder, Rung};
pub use trainer::{Heuristic, Trainer};
