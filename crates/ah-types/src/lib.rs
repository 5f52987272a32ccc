//! The vocabulary and the file formats of AutoHeuristic.
//!
//! Every other crate of the workspace uses these words, and they exchange these files:
//!
//! 1. An [`Optimization`] is a decision point with a name. It lists the [`Feature`]s of a [`Context`], the
//!    [derived features](DerivedFeature) that are computed from them, the fallback, and the domain in which a
//!    heuristic is valid.
//! 2. `ah-collect` measures choices on inputs and appends to a [log](mod@log) (`train.txt`).
//! 3. `ah-train` reads the log and writes a [`Model`] (`model.json`): a [`Tree`] whose leaves
//!    rank the choices.
//! 4. `ah-codegen` turns the model into source code; `ah-runtime` asks a model or the generated code.
//!
//! Begin with `optimization/pad_mm.toml` (a decision), [`log::read`] and [`Model::decide`]. Nothing here runs a kernel,
//! reads a clock or prints.
//!
//! ```
//! use ah_types::{Context, DerivedFeature, Feature, Features, Row, Schema};
//!
//! let schema = Schema::new(["m", "k", "n"].map(Feature::numerical)).unwrap();
//! let derived = [DerivedFeature { name: "m*k".into(), expression: "m * k".into() }];
//! let features = Features::new(schema, &derived).unwrap();
//!
//! let context = Context::new().with("m", 128).with("k", 1024).with("n", 4096);
//! let values = context.row(features.base()).unwrap();
//! let slot = features.all().slot("m*k").unwrap();
//! assert_eq!(features.row(&values[..]).number(slot), 131072.0);
//! ```
#![forbid(unsafe_code)]

pub mod artefact;
mod choice;
mod clause;
mod context;
mod derived;
mod device;
mod error;
pub mod expr;
mod fault;
mod feature;
mod fields;
#[cfg(feature = "gzip")]
mod gunzip;
pub mod hash;
mod json;
pub mod log;
mod model;
mod null_is_infinite;
mod number;
mod optimization;
pub mod random;
mod row;
pub mod shown;
mod single_choice;
mod tally;
mod timing;
mod tree;
mod unsure;

pub use ah_decide::{BLOCK, LANES, MOST_LEAVES as BOOSTER_LEAVES, Ranked};
pub use choice::{ChoiceId, Failure, Outcome, median};
pub use clause::Clause;
pub use context::{Context, Scalar, Value};
pub use derived::{DerivedFeature, FeatureRow, Features};
pub use device::{Cpu, Cuda, DEVICE_FEATURES, Device, DeviceMismatch, Identity, admits, capability_identity};
pub use error::Error;
pub use fault::{Difference, Fault, Invalid, RowNumber};
pub use feature::{Feature, FeatureKind, Schema};
pub use fields::{FieldValue, fields};
pub use json::strict_json;
pub use model::{
    BoosterTables, LogRecord, LoggedRow, Model, Precondition, Promise, PromiseMode, Provenance, ROW_NUMBERS,
    Reached, ScoreRow, ScoreTree, Sums, Tables,
};
pub use number::number;
pub use optimization::{
    ChoiceRule, DevicePrecondition, LogOptimization, Objective, Optimization, Target, named,
};
pub use row::Row;
pub use single_choice::SingleChoice;
pub use tally::Tally;
pub use timing::TimingPolicy;
pub use tree::{Column, Leaf, MISSING, Node, RankedChoice, Test, Tree, contains, goes_left};
pub use unsure::Unsure;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
