//! Trees, from their splits to the leaves of the model.
//!
//! A [`GrownTree`] has splits only. [`Scores`] rank the choices in each of its nodes and [`price`]
//! weighs what a choice risks; [`FittedTrees`] hold both. [`leaves`] turns them into the trees of a
//! model.

mod boosted;
pub mod fitted;
pub mod grown;
pub mod leaves;
mod lookup;
mod outside;
pub mod price;
pub mod prune;
pub mod scores;
mod shortlist;

pub use boosted::{Boosted, BoostedTree, CAUTION_UNIT, nearest_score};
pub use fitted::{FittedTree, FittedTrees, ScoredChoice};
pub use grown::GrownTree;
pub use leaves::RankingPolicy;
pub use lookup::Lookup;
pub use scores::Scores;
