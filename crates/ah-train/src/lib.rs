//! Learns from a log which choice to take on which input.
//!
//! Begin with [`train`] and its [`Params`]. [`evaluate`] judges a model on any log of its
//! optimization.
//!
//! The steps of a training, in the order of the data (`train.rs`):
//!
//! 1. read: `data::dataset` makes a log a table of medians, inputs × choices, and ranks its features,
//!    logged and derived, as columns.
//! 2. label: `data::targets` are the costs of the choices on each input.
//! 3. split: `data::split` holds the test part out; the rest is the training part.
//! 4. many choices: `joint` estimates the times that the log of many choices lacks, and `search::portfolio` keeps a few
//!    of these choices.
//! 5. search: `search` chooses the learner's parameters by the slowdown on held-out folds of the
//!    training part.
//! 6. fit: `learners` grow a `tree`, whose nodes rank the choices.
//! 7. promise: `promise` makes the heuristic decline where it would be slower than the fallback too
//!    often, and chooses the size of the model. `net` knows how long a program waits for a decision.
//! 8. judge: `judge` weighs the decisions on the test part.
//! 9. write: `model` is what ships, learned once more from everything, with a `record` of its origin.
//!    [`report`] is what people read.
//!
//! [`adapt`](fn@adapt) moves a finished model to another device or to other shapes, by a few inputs measured there.
//!
//! Each file uses only files of earlier steps, and `error`, `params` and `setting`. `plan` has all settings: they are
//! resolved once, between split and search.
#![forbid(unsafe_code)]

mod adapt;
mod data;
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
mod promise;
mod record;
#[cfg(feature = "cli")]
pub mod report;
mod search;
mod setting;
mod train;
mod tree;

pub use adapt::{AdaptParams, Adaptation, Judged, Method, adapt};
pub use ah_types::{LearnerKind, Target, TrainingPolicy};
pub use error::TrainError;
pub use explain::explain;
pub use judge::{Baseline, BaselineComparison, Evaluation, Metrics, Study, TestReport, evaluate};
pub use overhead::Overhead;
pub use params::{MaxRisk, Params, PromiseMode, Size, SplitBy, ValidParams};
pub use plan::TrainPlan;
pub use setting::{Origin, Setting, Settings};
pub use train::{TrainedModel, train};

/// The steps one by one, for benchmarks and studies. They change as the crate does.
#[cfg(feature = "parts")]
pub mod parts {
    pub use crate::data::{COST_ONE, Columns, Costs, Dataset, RankedFeatures, Subset, Table, split};
    pub use crate::judge::decisions::JudgedInput;
    pub use crate::learners::{Boost, CostTree, Criterion, LinfaTrees};
    pub use crate::promise::ladder::{Climbed, climb};
    pub use crate::promise::{Heuristic, Trainer, calibrate};
    pub use crate::search::{Configuration, Portfolio, ScoredConfiguration};
    pub use crate::tree::{FittedEnsemble, GrownTree, RankingPolicy, ScoredChoice};
}
