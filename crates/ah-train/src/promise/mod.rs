//! The promise: at most a share of the inputs is slower than the fallback by more than a limit.
//!
//! [`recipe`] learns a heuristic that keeps it, [`calibrate`] finds the threshold on the
//! [risk ratio](crate::tree::risk) of a choice, [`row_risks`] the risks beside boosters, and [`size`] the number of leaves.

pub mod calibrate;
pub mod recipe;
pub mod row_risks;
pub mod size;

pub use recipe::{Heuristic, Recipe};
