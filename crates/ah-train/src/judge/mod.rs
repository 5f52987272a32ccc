//! Judging: [`metrics`] prices a model's decisions on a table, [`evaluation`] is `ah-train evaluate`.

pub mod evaluation;
pub mod metrics;

pub use evaluation::{Evaluation, evaluate};
pub use metrics::{DEFAULT_MAX_SLOWDOWN, Metrics};
