//! A learned heuristic: all that decides, and nothing that measures.
//!
//! 1. A [`Context`] is the facts known when choosing: a value for each [`Feature`]. [Derived features](DerivedFeature) are
//!    computed from them by [expressions](expr).
//! 2. A [`Model`] (`model.json`) has a [`Tree`] whose leaves rank the choices, boosters that correct the scores, and the
//!    conditions under which it may be asked.
//! 3. [`Model::decide`] takes a choice, or says why it is [`Unsure`]. [`Tables`] do the same without allocating.
//!
//! Begin with [`Model`] and `docs/model-format.md`. `ah-train` writes models, `ah-codegen` turns them into source code,
//! `ah-runtime` asks them. [`this_cpu`] identifies the processor for the guard. Nothing here reads a log or a clock, or prints.
//!
//! ```
//! use ah_model::{Context, DerivedFeature, Feature, Features, Row, Schema};
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
mod host;
pub mod math;
mod model;
pub mod null_is_infinite;
mod objective;
mod row;
pub mod shown;
mod target;
mod tree;
mod unsure;

pub use ah_decide::{BLOCK, LANES, MOST_LEAVES as BOOSTER_LEAVES, Ranked};
pub use choice::ChoiceId;
pub use clause::Clause;
pub use context::{Context, Scalar, Value};
pub use derived::{DerivedFeature, FeatureRow, Features};
pub use device::{Cpu, Cuda, DEVICE_FEATURES, Device, DeviceMismatch, Identity, admits, capability_identity};
pub use error::Error;
pub use fault::{Difference, Fault, Invalid, RowNumber};
pub use feature::{Feature, FeatureKind, Schema};
pub use fields::{FieldValue, fields};
pub use host::this_cpu;
pub use model::{
    BoosterTables, CostClass, Costs, LogRecord, LoggedRow, Model, Precondition, Promise, PromiseMode,
    Provenance, Purpose, ROW_NUMBERS, Reached, ScoreRow, ScoreTree, SourceRecord, Sums, Tables, Term,
};
pub use objective::Objective;
pub use row::Row;
pub use shown::named;
pub use target::{Target, TargetRow, Timing};
pub use tree::{Column, Leaf, MISSING, Node, RankedChoice, Test, Tree, contains, goes_left};
pub use unsure::Unsure;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
