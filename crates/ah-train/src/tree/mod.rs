//! Trees during a training: splits ([`grown`]), how each node ranks the choices ([`scores`]), what
//! a choice risks ([`price`]), and the leaves of the finished model ([`leaves`]).

pub mod fitted;
pub mod grown;
pub mod leaves;
pub mod price;
pub mod scores;
mod shortlist;

pub use fitted::{FittedTrees, RankedChoice};
pub use grown::GrownTree;
pub use leaves::RankingPolicy;
pub use scores::Scores;
