//! Events of a MultiKernel, for `explain` and the `log` crate.

use ah_model::shown::time;

/// An event off the hot path.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The text shows the fields.
#[non_exhaustive]
pub enum Event {
    /// The kernels were measured, because no remembered pick served.
    #[error("measured [{context}]: {}", won(winner.as_ref()))]
    Measured {
        context: String,
        /// The kernel that won, and its milliseconds; `None` if all failed.
        winner: Option<(String, f64)>,
    },
    /// A kernel failed while it was measured.
    #[error("{kernel} failed for [{context}]: {reason}")]
    Failed { kernel: String, reason: String, context: String },
    /// The limit of remembered picks is reached; nothing more is measured.
    #[error(
        "{picks} picks are remembered, so no more are measured: raise `max_picks`, make fewer features exact, or learn a \
         heuristic from the log"
    )]
    Limit { picks: usize },
}

fn won(winner: Option<&(String, f64)>) -> String {
    winner
        .map_or("every kernel failed".to_owned(), |(kernel, ms)| format!("{kernel} wins with {}", time(*ms)))
}
