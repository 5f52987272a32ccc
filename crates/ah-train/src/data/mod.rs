//! The data of a training.
//!
//! A [`Dataset`] is a log made ready to learn from: a [`Table`] of medians (inputs × choices) and the
//! [`values`] of its features. Learners see the features as ranked [`Columns`], the costs as
//! [`Costs`], and the inputs of one fit as [`FitRows`]. [`split`] decides which inputs are held out.

mod category_orders;
pub mod columns;
pub mod costs;
pub mod dataset;
mod declared;
pub mod domain;
mod exclude;
pub mod formula;
pub mod groups;
mod impossible;
pub mod irregularities;
mod learned_eligible;
pub mod measured_range;
pub mod split;
pub mod table;
pub mod threshold;
mod unrepeated;
pub mod usable;
pub mod values;
pub mod weights;

pub use columns::{Column, Columns, FitRows, RankedFeatures};
pub use costs::{COST_ONE, Costs};
pub use dataset::{Dataset, PENALTY};
pub use groups::{Groups, Shared};
pub use table::Table;
#[cfg(feature = "cli")]
pub use table::{LEAST_MS, Spread};
