//! `ah-train adapt`: a model that was learned on another device, or on other shapes, and a log of a few inputs that
//! were measured here.
//!
//! 1. [`union`] gives the model the choices of the log too.
//! 2. [`transfer`]: where the new inputs end in the old trees, and by how much the old scores miss their times.
//! 3. [`correction`] moves the scores of every node towards the new times, by hierarchical shrinkage. Most leaves see
//!    no new input, so the evidence comes from the nodes above.
//! 4. [`strength`] chooses by cross-validation how much the old scores weigh.
//! 5. [`corrected`] ranks the choices by corrected scores, and [`rewrite`] makes the new model.
//! 6. [`way`]: such a model, or one that is learned from the new inputs alone. With a large shift the second loses less.
//! 7. [`target`] has the shares that so few inputs can promise, and the level of the tests.
//! 8. [`trial`] judges each way with each share out of fold; [`adaptation`] takes the best.

pub mod adaptation;
mod corrected;
mod correction;
mod params;
mod rewrite;
mod strength;
mod target;
mod transfer;
mod trial;
mod union;
mod way;

pub use adaptation::{Adaptation, Stricter, adapt};
pub use params::AdaptParams;
pub use trial::Judged;
pub use way::Method;
