//! Learners grow trees.
//!
//! A learner implements linfa's `Fit` for our rows and targets: the same rows give the same tree, whatever the threads. It has a
//! file or folder here, a variant of `search::Configuration`, and a name in [`LearnerKind`](ah_types::LearnerKind).
//!
//! A learner only decides where to split. The leaves are the same for all learners: `tree::leaves`
//! makes them from the training rows that reach them, so a library's own leaves do not matter (linfa's
//! hold one class and no counts).

mod cost_tree;
mod linfa_trees;

pub use cost_tree::{Boost, CostTree};
pub use linfa_trees::{Criterion, LinfaTrees};

#[cfg(test)]
#[path = "../../tests/unit/linfa_traps.rs"]
mod linfa_traps;
