//! Decision points: a program asks an [`AutoHeuristic`] which choice to take.
//!
//! From the bottom up: [`Answer`] is what it returns, `binding` maps a heuristic's features and choices to
//! the decision point's and refuses other versions than the pinned ones, `recorder` appends measurements to a log,
//! [`AutoHeuristic`] asks the bound heuristics or records, and [`Builder`] sets it up.

mod answer;
mod auto_heuristic;
mod binding;
mod builder;
mod recorder;

pub use answer::{Answer, Reason};
pub use auto_heuristic::AutoHeuristic;
pub use builder::{Builder, Role};
