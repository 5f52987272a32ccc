//! The promise: at most a share of the inputs is slower than the fallback by more than a limit.
//!
//! [`trainer`] learns a heuristic that keeps it, [`calibrate`] finds the threshold on the
//! [risk ratio](crate::tree::risk) of a choice, [`risk_model`] the risk beside boosters, [`price`] what
//! the promise costs, and [`size`] the number of leaves.

pub mod calibrate;
pub mod price;
pub mod risk_model;
pub mod size;
pub mod trainer;

pub use trainer::{Heuristic, Trainer};
