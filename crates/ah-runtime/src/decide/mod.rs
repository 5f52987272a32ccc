//! Decision points: a program asks an [`AutoHeuristic`] which choice to take.
//!
//! From the bottom up: [`Answer`] is what it returns, `binding` maps a heuristic's features and choices to
//! the decision point's and refuses other versions than the pinned ones, [`AutoHeuristic`] asks the bound heuristics, and [`AutoHeuristicBuilder`]
//! sets it up. With the feature `record`, `recorder` appends measurements to a log, and `recording` has the methods for it.

mod answer;
mod auto_heuristic;
mod binding;
mod builder;
#[cfg(feature = "record")]
mod recorder;
#[cfg(feature = "record")]
mod recording;

pub use answer::{Answer, Reason};
pub use auto_heuristic::AutoHeuristic;
pub use builder::{AutoHeuristicBuilder, Role};
