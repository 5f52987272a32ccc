//! Consulting.
mod heuristic;
mod loaded_model;
pub mod registry;

pub use ah_types;
pub use heuristic::{DeviceGuard, Heuristic, Unsure};
pub use loaded_model::LoadedModel;
pub use registry::register;
