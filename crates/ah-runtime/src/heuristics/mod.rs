//! Learned heuristics: what each can do, and the one that a model file holds.
//!
//! [`Heuristic`] is the trait that generated crates implement; [`LoadedModel`] implements it for a
//! `model.json`. [`DeviceGuard`] names the device that a generated crate was learned on.

mod device_guard;
mod heuristic;
mod loaded_model;

pub use device_guard::DeviceGuard;
pub use heuristic::Heuristic;
pub use loaded_model::LoadedModel;
