//! Events of a MultiKernel and their reasons, for `explain` and the `log` crate.

use ah_model::shown::time;

/// Why no remembered pick served a call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The text shows the fields.
#[non_exhaustive]
pub enum Miss {
    /// Nothing is remembered yet.
    #[error("nothing is remembered yet")]
    First,
    /// A guard of the nearest pick, for example `512 < n <= 1024`, does not hold for the value found.
    #[error("the guard {guard} fails for {found}")]
    Guard { guard: String, found: String },
    /// The remembered kernel does not support this input.
    #[error("{kernel} does not support this input")]
    NotEligible { kernel: String },
}

/// An event off the hot path.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The text shows the fields.
#[non_exhaustive]
pub enum Event {
    /// The kernels were measured.
    #[error("measured [{context}] because {miss}: {}", won(winner.as_ref()))]
    Measured {
        miss: Miss,
        context: String,
        /// The kernel that won, and its milliseconds; `None` if all failed.
        winner: Option<(String, f64)>,
    },
    /// A dimension got its second value and is dynamic from now on.
    #[error("{feature} is dynamic from now on: it was {first} and is {second}")]
    Dynamic { feature: String, first: f64, second: f64 },
    /// A kernel failed while it was measured.
    #[error("{kernel} failed for [{context}]: {reason}")]
    Failed { kernel: String, reason: String, context: String },
    /// The limit of remembered picks is reached; nothing more is measured.
    #[error(
        "{picks} picks are remembered, so no more are measured: raise `max_picks`, make a dimension dynamic, or learn a \
         heuristic from the log; {miss}"
    )]
    Limit { picks: usize, miss: Miss },
}

fn won(winner: Option<&(String, f64)>) -> String {
    winner
        .map_or("every kernel failed".to_owned(), |(kernel, ms)| format!("{kernel} wins with {}", time(*ms)))
}
