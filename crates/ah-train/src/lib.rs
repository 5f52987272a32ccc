//! Learning which choice to take, from a log of what each one cost.
//!
//! The way of the data, and the folder of each step:
//!
//! 1. read: `ah_types::log` reads the log; `data` makes it a table of medians, inputs × choices,
//!    and its features, logged and derived, the ranked columns that learners see.
//! 2. label: `data::targets` says what each choice costs on each input.
//! 3. split: `data::split` holds a test part out; the rest is the training part.
//! 4. search: `search` chooses a learner's parameters by the slowdown on held-out folds of the
//!    training part.
//! 5. fit: `learners` grow a `tree`, whose leaves rank the choices.
//! 6. promise: `promise` lets it decline where it would be slower than the fallback too often.
//! 7. judge: `judge` prices what following the model costs, on the test part or on another log.
//! 8. write: `train` fits once more on everything, with a record of where it comes from;
//!    [`report`] is what people read.
#![forbid(unsafe_code)]

mod data;
mod error;
mod judge;
mod learners;
mod params;
mod policy;
mod promise;
mod record;
pub mod report;
mod search;
mod train;
mod tree;

pub use data::SplitBy;
pub use error::TrainError;
pub use judge::{Evaluation, Metrics, evaluate};
pub use params::{NamedLog, Params, RawParams};
pub use policy::{CellFilter, Criterion, LearnerKind, Policy};
pub use promise::PromiseMode;
pub use train::{TestReport, TrainedModel, train, train_with};

/// The steps one by one, for benchmarks and studies; they change as the crate does.
pub mod parts {
    pub use crate::data::{COST_ONE, Columns, Rows, Targets, Task, split};
    pub use crate::learners::{Dataset, Learner, LinfaTrees, Preset, Soft};
    pub use crate::promise::{PromiseTerms, Recipe, calibrate};
    pub use crate::search::Configuration;
    pub use crate::tree::{GrownTree, RankedChoice, RankingPolicy};
}
