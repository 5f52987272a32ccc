//! The promise: at most a share of the inputs is slower than the fallback by more than a limit.
//!
//! [`recipe`] learns a heuristic that keeps it, [`calibrate`] finds the threshold on the
//! [price](crate::tree::price) of a choice, [`caution`] where that must be lower, and [`size`] the number of leaves.
//! [`confidence`] is PyTorch's rule for declining.

pub mod calibrate;
pub mod caution;
pub mod recipe;
pub mod size;

pub use recipe::{Heuristic, Recipe};
