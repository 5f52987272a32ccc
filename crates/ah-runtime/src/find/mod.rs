//! Finding the heuristics of an optimization. A decision point takes the first, in this order, whose device
//! guard and domain hold:
//!
//! 1. models in the folders of `AUTOHEURISTIC_PATH`: the person who runs the program has the last word;
//! 2. heuristics [given](crate::Builder::heuristic) to the decision point;
//! 3. heuristics that [registered](register) themselves, in the order of registration.
//!
//! [`registry`] holds registered heuristics and counts changes; [`folders`] loads model files; [`reload`]
//! reads changed ones every second.

mod folders;
mod registry;
mod reload;

pub(crate) use folders::decided_in;
pub(crate) use registry::generation;
pub use registry::{register, registered};
pub(crate) use reload::in_folders;
pub use reload::reload_models;
