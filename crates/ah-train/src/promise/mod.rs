//! The promise: at most a share of the inputs is slower than the fallback by more than a limit.
//!
//! [`recipe`] has what to learn, what one fit sees, and the model that comes of it. [`folds`] are the fits that calibrate, and
//! their decisions on the inputs that they did not see. [`calibrate`] finds the margin that keeps the promise, and [`ladder`] compares sizes.
//! [`new_groups`] says what is lost on groups that the log does not have.

pub mod calibrate;
pub mod folds;
pub mod ladder;
pub mod new_groups;
pub mod recipe;

pub use calibrate::{ALWAYS, NEVER};
pub use folds::Folds;
#[cfg(feature = "cli")]
pub use ladder::Rung;
pub use ladder::{COSTLY, GOOD_ENOUGH, Ladder, SizeChoice, StricterPromise, choose_size};
pub use new_groups::NewGroups;
pub use recipe::{Recipe, View};
