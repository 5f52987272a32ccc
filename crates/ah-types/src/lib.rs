//! The vocabulary and the file formats of AutoHeuristic.
//!
//! Every other crate of the workspace speaks in these words, and they meet through these files:
//!
//! 1. An [`Optimization`] is a decision point with a name. It says which [`Feature`]s a
//!    [`Context`] has, which [derived features](Derived) are computed from them, what to fall
//!    back to and on which domain a heuristic holds.
//! 2. `ah-collect` measures choices on inputs and appends to a [log](mod@log) (`train.txt`).
//! 3. `ah-train` reads the log and writes a [`Model`] (`model.json`): a [`tree`] whose leaves
//!    rank the choices.
//! 4. `ah-codegen` turns the model into source code; `ah-runtime` asks a model or the
//!    generated code.
//!
//! Nothing here runs a kernel, reads a clock or prints.
//!
//! ```
//! use ah_types::{Context, Derived, Features, Feature, Schema};
//!
//! let schema = Schema::new(["m", "k", "n"].map(Feature::numerical)).unwrap();
//! let derived = [Derived { name: "m*k".into(), expression: "m * k".into() }];
//! let features = Features::new(schema, &derived).unwrap();
//!
//! let context = Context::new().with("m", 128).with("k", 1024).with("n", 4096);
//! let values = context.row(features.base()).unwrap();
//! use ah_types::expr::Row;
//! let slot = features.all().slot("m*k").unwrap();
//! assert_eq!(features.row(&values).scalar(slot).unwrap().number(), Some(131072.0));
//! ```
#![forbid(unsafe_code)]

pub mod artefact;
pub mod choice;
pub mod context;
pub mod derived;
pub mod device;
pub mod expr;
pub mod feature;
pub mod fields;
pub mod log;
pub mod model;
pub mod number;
pub mod optimization;
pub mod timing;
pub mod tree;

pub use choice::{ChoiceId, Outcome, median};
pub use context::{Context, ContextError, Scalar, Value};
pub use derived::{Derived, DerivedError, Features};
pub use device::Device;
pub use expr::Row;
pub use feature::{Feature, FeatureKind, Schema};
pub use log::{Log, LogError};
pub use model::{Decision, LoggedRow, Model, ModelError, Unsure};
pub use optimization::{Optimization, OptimizationError};
pub use tree::{Leaf, Node, Ranked, Test, Tree};
