//! A joint model of inputs and choices, for logs of hundreds of choices of which each input times a few.
//!
//! Choices named `KEY=VALUE_…` have [`fields`]. The [`model`] predicts the log time of any choice on any input,
//! measured or not, from [`columns`] of both: numbers of the input, fields of the choice, and tile counts, which
//! [`tilings`] finds. [`completion`] fills a sparse table with its estimates, from which the portfolio is chosen. An
//! estimate is no evidence: a leaf ranks only choices that were measured there. [`failures`] predicts the choices that fail,
//! and [`proposal`] lists the cells that are worth timing next.

mod boost;
mod columns;
mod completion;
mod failures;
mod fields;
mod grow;
mod levels;
mod model;
mod proposal;
mod rows;
mod tilings;

pub use completion::{complete, completed, is_of_many, is_sparse, timed_share};
pub use proposal::{Proposal, propose};
