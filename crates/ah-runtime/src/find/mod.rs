//! Finding the heuristics of an optimization. A decision point takes the first, in this order, whose device
//! guard and domain hold:
//!
//! 1. models in the folders of `AUTOHEURISTIC_PATH`: the person who runs the program has the last word;
//! 2. heuristics [given](crate::AutoHeuristicBuilder::heuristic) to the decision point;
//! 3. heuristics that [registered](register) themselves, in the order of registration.
//!
//! [`registry`] holds registered heuristics and counts changes; [`folders`] loads model files, each once.

mod folders;
mod registry;

pub(crate) use folders::in_folders;
pub(crate) use registry::generation;
pub use registry::{register, registered};
