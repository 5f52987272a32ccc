//! A model compiled for fast decisions.
//!
//! [`ah_types::Model`] defines what a decision is. Most of its time goes into walking expressions, comparing
//! categories by name, and computing a derived feature again at each split. Here an expression is a
//! [closure](code), a category is a [number](categories), and a [decision](decision::Decision) computes each
//! feature at most once, for all splits and trees.
//!
//! From the bottom up: `categories`, `decision` (what runs), `code` (an expression's closure), `compiler` (a
//! model to a [`CompiledModel`]).

mod categories;
mod code;
mod compiler;
mod decision;
#[cfg(test)]
mod tests;

pub(crate) use decision::CompiledModel;
