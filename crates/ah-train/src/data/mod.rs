//! The data of a training.
//!
//! A [`Task`] is a log made ready to learn from: a [`Table`] of medians (inputs × choices) and
//! ranked [`Columns`] of features. [`Targets`] are the costs to learn, [`Rows`] the inputs of one
//! fit, and [`split`] decides which inputs are held out.

pub mod columns;
pub mod rows;
pub mod split;
pub mod table;
pub mod targets;
pub mod task;
pub mod weights;

pub use columns::{Column, Columns};
pub use rows::Rows;
pub use table::Table;
pub use targets::{COST_LIMIT, COST_ONE, Targets};
pub use task::Task;
