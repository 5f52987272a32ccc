//! Learns from a log which choice to take on which input.
//!
//! Begin with [`train`] and its [`Params`]. [`evaluate`] judges a model on any log of its
//! optimization.
//!
//! The steps of a training, in the order of the data (`train.rs`):
//!
//! 1. read: `data::dataset` makes a log a table of medians, inputs × choices.
//! 2. prepare: `prepared` holds the test part out, lets `joint` estimate the times that a log of many choices lacks, resolves
//!    all settings (`plan`), and keeps the choices that are worth it (`search::portfolio`).
//! 3. search: `search` chooses the learner's parameters by the slowdown on held-out folds of the training part.
//! 4. fit: `promise::recipe` has what one fit sees and its model; `learners` grow a `tree`.
//! 5. promise: `promise` makes the heuristic decline where it would be slower than the fallback too
//!    often, and chooses the size of the model. `overhead` knows how long a program waits for a decision.
//! 6. judge: `decisions` are what a model decides, and `judge` weighs them on the test part.
//! 7. write: the model that ships is learned once more from everything, with a `record` of its origin.
//!    [`report`] is what people read.
//!
//! Each file uses only files of earlier steps, and `error`, `params` and `setting`.
#![forbid(unsafe_code)]

mod bootstrap;
#[cfg(feature = "cli")]
mod cli;
mod data;
mod decisions;
mod error;
mod explain;
mod joint;
mod judge;
mod learners;
mod model;
mod overhead;
mod params;
mod params_check;
mod plan;
mod prepared;
mod promise;
mod record;
#[cfg(feature = "cli")]
pub mod report;
mod search;
mod setting;
#[cfg(feature = "cli")]
mod table;
#[cfg(feature = "cli")]
pub mod tool;
mod train;
mod tree;

pub use ah_model::{Error, Target};
pub use bootstrap::Range;
pub use explain::explain;
pub use judge::{
    Advice, Baseline, BaselineComparison, Evaluation, Gain, Losses, Metrics, Reason, TestReport, Verdict,
    evaluate,
};
pub use overhead::Overhead;
pub use params::{LearnerKind, MaxRisk, Outside, Params, Size, SplitBy};
pub use plan::TrainPlan;
pub use setting::{Origin, Setting, Settings};
pub use train::{NoPromise, TrainedModel, train, train_checked};
