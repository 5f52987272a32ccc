//! A joint model of inputs and choices, for logs where each input times a few of hundreds of choices.
//!
//! Choices named `KEY=VALUE_…` have fields (`fields`). The [`JointModel`] predicts the log time of any choice on any
//! input, timed or not, from `columns` of both: numbers of the input, fields of the choice, and tile counts, which
//! `tilings` finds. `ah-train` completes sparse logs with it. Its trees grow by the engine in [`growth`], and are boosted by
//! [`Boosting`], as all trees of `ah-train` are.
#![forbid(unsafe_code)]

mod boost;
mod columns;
pub mod cost_fit;
mod errors;
mod fields;
pub mod growth;
mod levels;
mod model;
mod rows;
mod tilings;

pub use boost::{BoostedTree, Boosting};
pub use errors::Errors;
pub use fields::are_common as have_fields;
pub use levels::Timing;
pub use model::JointModel;

/// Logs of at most this many choices need no joint model.
pub const MAX_CHOICES_WITHOUT_MODEL: usize = 32;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
