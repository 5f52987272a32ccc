//! The promise: at most a share of the inputs is slower than the fallback by more than a limit.
//! [`recipe`] learns with it, [`calibrate`] sets its threshold, [`confidence`] is PyTorch's rule.

pub mod calibrate;
pub mod confidence;
pub mod recipe;

pub use calibrate::{PromiseMode, PromiseTerms};
pub use recipe::Recipe;
