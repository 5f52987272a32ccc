//! The promise: at most a share of the inputs is slower than the fallback by more than a limit.
//!
//! [`recipe`] has what to learn, what one fit sees, and the resulting model. [`folds`] are the fits that calibrate, and
//! their decisions on the inputs that they did not see. [`calibrate`] finds the margin that keeps the promise, [`priced`] has what
//! decisions cost at a margin, and [`new_groups`] what is lost on groups that the log does not have. Each size is a [`candidate`];
//! [`ladder`] tries sizes, and [`choose`] takes one.

pub mod calibrate;
mod candidate;
mod choose;
pub mod folds;
pub mod ladder;
pub mod new_groups;
mod priced;
pub mod recipe;

pub use calibrate::{ALWAYS, NEVER};
pub use candidate::Rung;
pub use folds::Folds;
pub use ladder::{COSTLY, GOOD_ENOUGH, SizeChoice, choose_size};
#[cfg(feature = "cli")]
pub use ladder::{Ladder, StricterPromise};
#[cfg(feature = "cli")]
pub use new_groups::NewGroups;
pub use recipe::{Recipe, View};
