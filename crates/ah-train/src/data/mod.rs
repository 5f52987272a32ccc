//! The data of a training.
//!
//! A [`Task`] is a log made ready to learn from: a [`Table`] of medians (inputs × choices) and the
//! [`values`] of its features. Learners see the features as ranked [`Columns`], the costs as
//! [`Targets`], and the inputs of one fit as [`Rows`]. [`split`] decides which inputs are held out.

pub mod columns;
mod declared;
pub mod devices;
pub mod domain;
mod evidence;
mod exclude;
pub mod formula;
pub mod irregularities;
pub mod random;
pub mod rows;
pub mod split;
pub mod table;
pub mod targets;
pub mod task;
mod unrepeated;
pub mod usable;
pub mod values;
pub mod weights;

pub use columns::{Column, Columns, RankedFeatures};
pub use rows::Rows;
pub use table::{COST_LIMIT, Table};
pub use targets::{COST_ONE, Targets};
pub use task::Task;
