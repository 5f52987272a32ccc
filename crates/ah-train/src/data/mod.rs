//! The data of a training: the log becomes a [`Table`] of medians, its features ranked [`Columns`],
//! its times [`Targets`]; [`split`] decides which inputs are held out.

pub mod columns;
pub mod rows;
pub mod split;
pub mod table;
pub mod targets;
pub mod task;
pub mod weights;

pub use columns::{Column, Columns};
pub use rows::Rows;
pub use split::SplitBy;
pub use table::Table;
pub use targets::{COST_LIMIT, COST_ONE, Targets};
pub use task::Task;
