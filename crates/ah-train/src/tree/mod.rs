//! Ensembles, from the splits of a tree to the leaves of the model.
//!
//! A [tree](ah_joint::growth::Tree) has splits only. [`Scores`] rank the choices in each of its nodes, and [`Boosters`] add to the
//! scores; a [`FittedEnsemble`] holds all three. [`leaves`] turns its tree into that of a model.

mod boosters;
pub mod cheap_first;
pub mod cover;
pub mod fitted;
pub mod leaves;
pub mod narrow;
pub mod prune;
pub mod scores;

pub use boosters::{Booster, Boosters, nearest};
pub use fitted::FittedEnsemble;
pub use scores::{MOST_WORSE, Scores};
