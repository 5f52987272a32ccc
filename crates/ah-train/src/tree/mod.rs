//! Trees during a training: splits ([`grown`]), how each node ranks the choices ([`scores`]), what
//! a choice risks ([`price`]), and the leaves of the finished model ([`leaves`]).

pub mod fitted;
pub mod grown;
pub mod leaves;
pub mod price;
pub mod scores;
mod shortlist;

pub use fitted::{Fitted, Ranking};
pub use grown::Grown;
pub use leaves::RankingPolicy;
pub use scores::Scores;
