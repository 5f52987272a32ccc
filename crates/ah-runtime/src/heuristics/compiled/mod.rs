//! A model compiled for fast decisions.
//!
//! [`ah_types::Model`] defines what a decision is. Most of its time goes into walking expressions, comparing
//! categories by name, and computing a derived feature again at each split. Here a category is a [number](categories), the
//! expressions are one [graph], and its values are computed by [steps](program) over registers: of boosted trees all at once, of one
//! tree at the first node of a path that needs them.
//!
//! From the bottom up: `categories`, `program` (what runs), `graph` (a model's expressions), `decision`, `compiler` (a model to a
//! [`CompiledModel`]).

mod categories;
mod compiler;
mod decision;
mod graph;
mod program;

pub(crate) use decision::CompiledModel;
