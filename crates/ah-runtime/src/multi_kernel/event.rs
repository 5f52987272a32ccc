//! Events of a MultiKernel and their reasons, for `explain` and the `log` crate.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;

use ah_types::shown::time;

use crate::sync::lock;

/// Why no remembered pick served a call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The text shows the fields.
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
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The text shows the fields.
pub enum Event {
    /// The kernels were measured.
    Measured {
        miss: Miss,
        context: String,
        /// The kernel that won, and its milliseconds; `None` if all failed.
        winner: Option<(String, f64)>,
    },
    /// A dimension got its second value and is dynamic from now on.
    Dynamic { feature: String, first: f64, second: f64 },
    /// A kernel failed while it was measured.
    Failed { kernel: String, reason: String, context: String },
    /// The limit of remembered picks is reached; nothing more is measured.
    Limit { picks: usize, miss: Miss },
    /// The recording has no pick, and a program that looks up measures nothing.
    NotRecorded { miss: Miss, context: String },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured { miss, context, winner: Some((kernel, ms)) } => {
                let ms = time(*ms);
                write!(f, "measured [{context}] because {miss}: {kernel} wins with {ms}")
            }
            Self::Measured { miss, context, winner: None } => {
                write!(f, "measured [{context}] because {miss}: every kernel failed")
            }
            Self::Dynamic { feature, first, second } => {
                write!(f, "{feature} is dynamic from now on: it was {first} and is {second}")
            }
            Self::Failed { kernel, reason, context } => {
                write!(f, "{kernel} failed for [{context}]: {reason}")
            }
            Self::Limit { picks, miss } => write!(
                f,
                "{picks} picks are remembered, so no more are measured: raise `max_picks`, make a dimension \
                 dynamic, or learn a heuristic from the log; {miss}"
            ),
            Self::NotRecorded { miss, context } => {
                write!(f, "the recording has no pick for [{context}], so the fallback runs; {miss}")
            }
        }
    }
}

/// The last events.
#[derive(Debug, Default)]
pub(super) struct Events(Mutex<VecDeque<Event>>);

impl Events {
    const KEPT: usize = 64;

    pub(super) fn add(&self, name: &str, event: Event) {
        match event {
            Event::Failed { .. } | Event::Limit { .. } => log::warn!("{name}: {event}"),
            _ => log::info!("{name}: {event}"),
        }
        let mut events = lock(&self.0);
        if events.len() == Self::KEPT {
            events.pop_front();
        }
        events.push_back(event);
    }

    pub(super) fn all(&self) -> Vec<Event> {
        lock(&self.0).iter().cloned().collect()
    }
}
