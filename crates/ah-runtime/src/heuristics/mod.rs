//! Learned heuristics: what each can do, and the one that a model file holds.
//!
//! [`Heuristic`] is the trait that generated crates implement; [`LoadedModel`] implements it for a
//! `model.json`.

mod heuristic;
mod loaded_model;

pub use heuristic::Heuristic;
pub use loaded_model::LoadedModel;
