//! Learning which choice to take, from a log of what each one cost.
//!
//! The way of the data, and the room of each step:
//!
//! 1. read: `ah_types::log` reads the log; [`task`] makes it a [`table`] of medians, inputs ×
//!    choices, and its features, logged and derived, the ranked [`columns`] that learners see.
//! 2. label: [`targets`] says what each choice costs on each input.
//! 3. [`split`]: a test part is held out, the rest is the training part.
//! 4. fit: [`learners`] grow a tree ([`grown`]); [`search`] chooses their parameters by the
//!    slowdown on held-out folds of the training part; [`scores`] and [`leaves`] say what its leaves rank.
//! 5. [`mod@evaluate`]: what following the model costs on the test part.
//! 6. write: [`mod@train`] fits once more on everything, with a record of where it comes from.
//!
//! [`judge`] is `ah-train evaluate`; [`report`] is what people read.
#![forbid(unsafe_code)]

pub mod calibrate;
pub mod columns;
pub mod confidence;
pub mod error;
pub mod evaluate;
pub mod fitted;
pub mod grown;
pub mod input_weights;
pub mod judge;
pub mod learners;
pub mod leaves;
pub mod params;
pub mod policy;
pub mod portfolio;
pub mod price;
pub mod promise;
pub mod record;
pub mod report;
pub mod scores;
pub mod search;
mod shortlist;
pub mod split;
pub mod table;
pub mod targets;
pub mod task;
pub mod train;

pub use error::TrainError;
pub use judge::{Evaluation, evaluate};
pub use params::{NamedLog, Params, RawParams};
pub use train::{Trained, train, train_with};
