//! `ah-train adapt`: a model that was learned on another device, or on other shapes, and a log of a few inputs that
//! were measured here.
//!
//! There are two ways, judged on the same folds of the new inputs:
//!
//! - *retrained*: a usual training on the new inputs ([`crate::promise`]).
//! - *corrected*: the old trees with other scores. [`old_model`] looks the new inputs up in the old model, [`correction`]
//!   moves the scores of every node towards the new times, and [`corrected`] judges and writes the result.
//!
//! [`adaptation`] takes the way that loses less; [`share`] is the promise that so few inputs can show.

pub mod adaptation;
mod corrected;
mod correction;
mod old_model;
mod params;
mod share;

pub use adaptation::{Adaptation, Judged, Method, adapt};
pub use params::AdaptParams;
