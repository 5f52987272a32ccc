//! Learners grow trees.
//!
//! The same rows give the same tree, whatever the threads. Our own learners grow by [`ah_joint::growth`]; linfa-trees is the
//! baseline. A learner has a file here that implements [`Learner`], and a name in
//! [`LearnerKind`](crate::params::LearnerKind) with its row in `registry.rs`.
//!
//! A learner only decides where to split. The leaves are the same for all learners: `tree::leaves`
//! makes them from the training rows that reach them, so a library's own leaves do not matter (linfa's
//! hold one class and no counts).

mod alignment;
mod boost;
pub mod cost_formula;
mod cost_tree;
mod dimensions;
mod learner;
mod linfa_trees;
mod registry;
mod residual_tree;

pub use boost::{Boost, Residuals};
pub use cost_tree::{CostTree, SharpTree};
pub use dimensions::{dimensions, padding};
pub use learner::Learner;
pub use linfa_trees::LinfaTrees;
pub use registry::Boosting;
pub use residual_tree::ResidualTree;
